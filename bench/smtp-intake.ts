import { join } from 'node:path'
import { freePorts } from '../test/served.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { allDelivered, startPostfix } from './contestants/postfix.ts'
import { writeMail } from './tools/mail-text.ts'
import { cpuSeconds, startServer } from './tools/processes.ts'
import { describeMachine, goal, note, say, table } from './tools/report.ts'
import { alternate } from './tools/rounds.ts'
import { benchFolder } from './tools/scratch.ts'
import { buildSlowFsync } from './tools/slow-fsync.ts'
import { mailsFor, sendMails } from './tools/smtp-source.ts'
import { figure, median, spread } from './tools/stats.ts'

// How many mails a second are taken in durably, and what do they cost? Sender: Postfix's smtp-source.

interface Contestant {
  name: string
  pid: number
  port: number
  recipient(): Promise<string>
  /** Waits for what is still to be done for mails that were answered. */
  settled(mails: number): Promise<void>
}

interface Case {
  name: string
  bytes: number
  kept: boolean
  senders: number
}

interface Outcome {
  /** As the sender hears 250. */
  perSecond: number
  /** Until a reader can have the last of them. */
  donePerSecond: number
  cpuPerThousand: number
}

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 5
const SECONDS = quick ? 0.5 : 1.5
const NAMES = { sink: 'sink', mayfly: 'mayfly', postfix: 'Postfix', library: 'smtp-server' }

const CASES: Case[] = [4, 50].flatMap((kb) =>
  [false, true].flatMap((kept) =>
    [20, 100].map((senders) => ({
      name: `${kb} KB, ${kept ? 'kept connections' : 'a connection per mail'}, ${senders} senders`,
      bytes: kb * 1024,
      kept,
      senders,
    })),
  ),
)

async function main(): Promise<void> {
  say('## Intake: mails a second (bench/smtp-intake.ts)', '')
  describeMachine()
  say(
    `- Settings: ${ROUNDS} rounds of about ${SECONDS} s for each contestant, alternating; smtp-source on the same machine; HTML mail that packs 3 to 1 (4 KB) or 4 to 1 (50 KB); one recipient`,
    '- sink: `node:net`, discards. mayfly: `bin/mayfly.js serve`, one SMTP thread, SQLite with an fsync before each 250.',
    '- Postfix: queue file fsynced before each 250, then delivered to a maildir. Its 250s come first and its deliveries later, so both speeds are given; CPU counts to the last delivery. A mail of mayfly is with its reader at its 250. smtp-server: discards, and holds each greeting back 100 ms.',
    '- CPU: user and system seconds of the whole server, threads and children, for 1,000 mails.',
  )
  const folder = benchFolder()
  const library = buildSlowFsync(folder.path)
  const durable = await compare('as the disk is', undefined, quick ? CASES.slice(0, 4) : CASES)
  judge(durable)
  if (library)
    await compare('with 2 ms added to each fsync', library, CASES.slice(0, quick ? 2 : 4))
  else say('', 'Skipped: 2 ms added to each fsync needs a C compiler (`cc`), and there is none.')
}

async function compare(title: string, preload: string | undefined, cases: readonly Case[]) {
  say('', `### ${title[0]?.toUpperCase()}${title.slice(1)}`)
  const { contestants, stop } = await startAll(preload)
  const all = new Map<Case, Map<string, Outcome[]>>()
  const folder = benchFolder()
  for (const one of cases) {
    note(`${title}: ${one.name}`)
    const file = writeMail(join(folder.path, String(one.bytes)), one.bytes)
    all.set(one, await runCase(one, file, contestants))
  }
  await stop()
  print(all)
  return all
}

async function runCase(one: Case, file: string, contestants: readonly Contestant[]) {
  const counts = new Map<string, number>()
  for (const contestant of contestants) {
    const { perSecond } = await measure(contestant, { ...one, file, mails: one.senders * 5 })
    counts.set(contestant.name, mailsFor(SECONDS, perSecond, one.senders))
  }
  return alternate(contestants, ROUNDS, (contestant) =>
    measure(contestant, { ...one, file, mails: counts.get(contestant.name) ?? 0 }),
  )
}

async function measure(
  { pid, port, recipient, settled }: Contestant,
  sending: Case & { file: string; mails: number },
): Promise<Outcome> {
  const to = await recipient()
  const before = cpuSeconds(pid)
  const start = performance.now()
  const perSecond = await sendMails({ ...sending, port, to })
  await settled(sending.mails)
  return {
    perSecond,
    donePerSecond: sending.mails / ((performance.now() - start) / 1000),
    cpuPerThousand: ((cpuSeconds(pid) - before) / sending.mails) * 1000,
  }
}

/** All of them run the whole time and idle while another is measured. Those that never fsync have nothing to slow down. */
async function startAll(preload: string | undefined) {
  const { inside } = benchFolder()
  const env: Record<string, string> = preload ? { LD_PRELOAD: preload } : {}
  const { http: sinkPort, smtp: libraryPort } = await freePorts()
  const { smtp: postfixPort } = await freePorts()
  const sink = await startServer(new URL('contestants/sink.ts', import.meta.url), [
    String(sinkPort),
  ])
  const library = await startServer(new URL('contestants/smtp-server.ts', import.meta.url), [
    String(libraryPort),
  ])
  const mayfly = await startMayfly(inside('mayfly'), env)
  const postfix = await startPostfix(inside('postfix'), postfixPort, preload)
  let sentToPostfix = 0

  const anybody = { recipient: async () => 'you@box.test', settled: async () => {} }
  const contestants: Contestant[] = [
    { name: NAMES.sink, pid: sink.pid, port: sinkPort, ...anybody },
    {
      name: NAMES.mayfly,
      pid: mayfly.pid,
      port: mayfly.smtpPort,
      recipient: async () => (await mayfly.session()).email,
      settled: async () => {},
    },
    {
      ...anybody,
      name: NAMES.postfix,
      pid: postfix.pid,
      port: postfixPort,
      async settled(mails) {
        sentToPostfix += mails
        await allDelivered(postfix, sentToPostfix)
      },
    },
    { name: NAMES.library, pid: library.pid, port: libraryPort, ...anybody },
  ]
  const stop = async () => {
    postfix.stop()
    await mayfly.stop()
    await library.stop()
    await sink.stop()
  }
  return { contestants: preload ? contestants.slice(0, 3) : contestants, stop }
}

type Results = Map<Case, Map<string, Outcome[]>>

type Rate = 'perSecond' | 'donePerSecond'

function rate(outcomes: Map<string, Outcome[]>, name: string, which: Rate = 'perSecond'): number {
  return median((outcomes.get(name) ?? []).map((outcome) => outcome[which]))
}

function print(results: Results): void {
  const rows = [...results].flatMap(([{ name: caseName }, outcomes]) =>
    [...outcomes].map(([name, list], index) => [
      index === 0 ? caseName : '',
      name,
      spread(list.map(({ perSecond }) => perSecond)),
      figure(rate(outcomes, name) / rate(outcomes, NAMES.sink)),
      figure(rate(outcomes, name) / rate(outcomes, NAMES.postfix)),
      name === NAMES.postfix ? spread(list.map(({ donePerSecond }) => donePerSecond)) : '',
      figure(median(list.map(({ cpuPerThousand }) => cpuPerThousand))),
    ]),
  )
  table(
    ['case', 'server', 'mails/s', 'of sink', 'of Postfix', 'delivered/s', 'CPU s per 1,000'],
    rows,
  )
}

function judge(results: Results): void {
  for (const [{ name, kept }, outcomes] of results) {
    const mayfly = rate(outcomes, NAMES.mayfly)
    const ofSink = mayfly / rate(outcomes, NAMES.sink)
    const ofPostfix = mayfly / rate(outcomes, NAMES.postfix)
    const ofDelivery = mayfly / rate(outcomes, NAMES.postfix, 'donePerSecond')
    const least = kept ? 0.4 : 0.55
    goal(`${name}: at least ${least} of the sink`, ofSink, ofSink >= least)
    if (kept) continue
    goal(`${name}: at least 3 times Postfix, by its 250s`, ofPostfix, ofPostfix >= 3)
    goal(`${name}: at least 3 times Postfix, by its deliveries`, ofDelivery, ofDelivery >= 3)
  }
}

await main()
