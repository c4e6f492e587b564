import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connectSmtp, type SmtpClient } from '../test/kit/smtp/smtp-client.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { whileSending } from './tools/intake.ts'
import { issueKey, UNLIMITED, unlimitedPlan } from './tools/keys.ts'
import { mailText, writeMail } from './tools/mail-text.ts'
import { quick } from './tools/options.ts'
import { benchFolder, cpuOf } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  p50AndP99,
  progress,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'
import { openReceiver } from './tools/webhook-receiver.ts'

// Delay from the 250 of a mail until the receiver of a webhook has it, CPU, and what intake loses, beside a service without
// webhooks.

const ROUNDS = quick ? 1 : 5
const SECONDS = quick ? 3 : 10
const SENDERS = 4
const ADDRESSES = 200
const PER_KEY = 10

interface Case {
  name: string
  mayfly: Mayfly
  /** Mails per second. */
  rate: number
  /** Deliveries per mail. */
  each: number
}

interface Result {
  /** From the 250, in milliseconds. */
  delays: number[]
  accepted: number[]
  /** Expected deliveries made before the end of the round and one more second. */
  made: number
  cpuPerThousand: number
}

async function main(): Promise<void> {
  reportHeader('Webhooks', 'webhooks')
  say(
    `- Settings: ${ROUNDS} rounds of ${SECONDS} s, alternating; mails of 4 KB to ${ADDRESSES} addresses of the pool, ${SENDERS} connections; receiver: node:http without TLS, answers at once; all on the same machine`,
    '- 200 webhooks: of 20 keys, each for one address, so each mail matches one; 20 webhooks: of two keys, each for the whole pool',
  )
  const folder = benchFolder()
  const receiver = await openRuns()
  const start = async (name: string, webhooks: number, to?: (at: number) => string) => {
    const data = folder.inside(name)
    const settings = {
      MAYFLY_WEBHOOK_ALLOW: '127.0.0.1',
      MAYFLY_POOL_BYTES: '100GB',
      ...unlimitedPlan(data),
    }
    const mayfly = await startMayfly(data, settings)
    const issue = () => issueKey(UNLIMITED, { ...settings, MAYFLY_DATA: data })
    await addWebhooks(mayfly, { issue, url: receiver.url, webhooks, to })
    return mayfly
  }
  const none = await start('none', 0)
  const one = await start('one', ADDRESSES, addressOf)
  const pool = await start('pool', 20)
  const cases: Case[] = [
    { name: 'no webhooks, 100 mails/s', mayfly: none, rate: 100, each: 0 },
    { name: '200 webhooks, 100 mails/s', mayfly: one, rate: 100, each: 1 },
    { name: 'no webhooks, 10 mails/s', mayfly: none, rate: 10, each: 0 },
    { name: '20 webhooks on one pool, 10 mails/s', mayfly: pool, rate: 10, each: 20 },
  ]
  const results = await alternate(cases, ROUNDS, (each) => runRound(each, receiver))
  reportDelays(cases, results)
  await measureIntake(cases, { file: writeMail(join(folder.path, 'mail'), 4096), receiver })
  for (const mayfly of [none, one, pool]) await mayfly.stop()
  receiver.close()
}

function reportDelays(cases: readonly Case[], results: ReadonlyMap<string, Result[]>): void {
  const rows = cases.map(({ name, rate, each }) => {
    const rounds = results.get(name) ?? []
    const wanted = rounds.length * rate * SECONDS * each
    const made = rounds.reduce((sum, round) => sum + round.made, 0)
    return [
      name,
      ...(each === 0 ? ['-', '-', '-'] : p50AndP99(rounds.flatMap(({ delays }) => delays))),
      ...(each === 0 ? [] : [`${figure((made / wanted) * 100)} %`]),
      ...p50AndP99(rounds.flatMap(({ accepted }) => accepted)),
      spread(rounds.map(({ cpuPerThousand }) => cpuPerThousand)),
    ]
  })
  reportTable(
    ['case', 'delivered p50 ms', 'p99', 'in time', '250 p50 ms', 'p99', 'CPU s per 1,000 mails'],
    rows,
  )
}

/** Intake at full load to a mailbox that no webhook sees, without and with deliveries beside it. */
async function measureIntake(
  cases: readonly Case[],
  { file, receiver }: { file: string; receiver: Receiver },
): Promise<void> {
  const [none, one] = cases
  if (!none || !one) return
  const idle = { ...one, name: '200 webhooks, no mail for them', rate: 0 }
  const contestants = [{ ...none, name: 'no webhooks', rate: 0 }, idle, none, one]
  const rates = await alternate(contestants, ROUNDS, async (each) => {
    const load = { file, reuse: true, senders: 20 }
    const work = async () => {
      if (each.rate === 0) await pause(SECONDS * 1000)
      else await runRound(each, receiver)
    }
    return (await whileSending(each.mayfly, load, work)).mails
  })
  const base = median(rates.get('no webhooks') ?? [])
  reportTable(
    ['intake at full load beside', 'mails/s', 'of no webhooks'],
    [...rates].map(([name, list]) => [name, spread(list), figure(median(list) / base)]),
  )
}

async function runRound({ name, mayfly, rate, each }: Case, receiver: Receiver): Promise<Result> {
  progress(name)
  const mails = Math.round(rate * SECONDS)
  const run = randomBytes(4).toString('hex')
  const acceptedAt = new Map<string, number>()
  const accepted: number[] = []
  const seen = receiver.follow(run)
  const before = cpuOf(mayfly).server
  const start = performance.now()
  await Promise.all(
    Array.from({ length: SENDERS }, async (_, sender) => {
      const smtp = await connectSmtp(mayfly.smtpPort)
      for (let at = sender; at < mails; at += SENDERS) {
        await pause(Math.max(0, start + (at * 1000) / rate - performance.now()))
        const subject = `${run} ${at}`
        accepted.push(await sendOne(smtp, addressOf(at), subject))
        acceptedAt.set(subject, performance.now())
      }
      smtp.close()
    }),
  )
  const end = performance.now() + 1000
  while (seen.length < mails * each && performance.now() < end) await pause(10)
  const made = seen.length
  const cpuPerThousand = ((cpuOf(mayfly).server - before) / mails) * 1000
  // Later rounds must not deliver what is left of this one.
  while (seen.length < mails * each) await pause(10)
  receiver.unfollow(run)
  const delays = seen.map(({ subject, at }) => Math.max(0, at - (acceptedAt.get(subject) ?? at)))
  return { delays, accepted, made, cpuPerThousand }
}

async function sendOne(smtp: SmtpClient, to: string, subject: string): Promise<number> {
  const start = performance.now()
  const { code } = await smtp.send({ to: [to], raw: `Subject: ${subject}\r\n${BODY}` })
  if (code !== 250) throw new Error(`mail rejected with ${code}`)
  return performance.now() - start
}

const BODY = mailText(4096).replace(/^Subject:.*\r\n/im, '')

function addressOf(at: number): string {
  return `hook${at % ADDRESSES}@pool.test`
}

interface WebhookSetup {
  issue(): string
  url: string
  webhooks: number
  to: ((at: number) => string) | undefined
}

async function addWebhooks(mayfly: Mayfly, { issue, url, webhooks, to }: WebhookSetup) {
  for (let at = 0; at < webhooks; at += PER_KEY) {
    const headers = { apikey: issue() }
    for (let more = 0; more < PER_KEY; more += 1) {
      const body = new URLSearchParams({ url, ...(to && { to: to(at + more) }) })
      const response = await fetch(`${mayfly.url}/webhooks`, { method: 'POST', headers, body })
      if (response.status !== 200) throw new Error(await response.text())
    }
  }
  // Until the loops of all webhooks run.
  await pause(webhooks > 0 ? 3_000 : 0)
}

interface Delivery {
  subject: string
  at: number
}

type Receiver = Awaited<ReturnType<typeof openRuns>>

async function openRuns() {
  const runs = new Map<string, Delivery[]>()
  const receiver = await openReceiver((subject) => {
    runs.get(subject.split(' ')[0] ?? '')?.push({ subject, at: performance.now() })
  })
  return {
    ...receiver,
    follow(run: string): Delivery[] {
      const seen: Delivery[] = []
      runs.set(run, seen)
      return seen
    },
    unfollow: (run: string) => void runs.delete(run),
  }
}

await main()
