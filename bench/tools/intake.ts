import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { SmtpClient } from '../../test/kit/smtp/smtp-client.ts'
import type { Mayfly } from '../contestants/mayfly.ts'
import { cpuOf, requireProgram } from './processes.ts'
import { alternate, median } from './report.ts'

export interface Contestant {
  name: string
  pid: number
  /** Process of its database server, if any. */
  storePid?: number
  port: number
  recipient(): Promise<string>
  /** Waits until accepted mails are delivered. */
  drain?(mails: number): Promise<void>
}

export interface IntakeCase {
  name: string
  bytes: number
  reuse: boolean
  senders: number
}

export interface IntakeResult {
  /** Rate of 250s. */
  perSecond: number
  /** Rate until the last mail can be read. */
  deliveredPerSecond: number
  cpuPerThousand: number
  storeCpuPerThousand: number
}

export function intakeCases(kilobytes: readonly number[], counts = [20, 100]): IntakeCase[] {
  return kilobytes.flatMap((kb) =>
    [false, true].flatMap((reuse) =>
      counts.map((senders) => ({
        name: `${kb} KB, ${reuse ? 'reused connections' : 'one connection per mail'}, ${senders} ${senders === 1 ? 'sender' : 'senders'}`,
        bytes: kb * 1024,
        reuse,
        senders,
      })),
    ),
  )
}

/** Sends each contestant as many mails as it accepts in `seconds`, by a short trial run. */
export async function runCase(
  contestants: readonly Contestant[],
  one: IntakeCase & { file: string },
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Map<string, IntakeResult[]>> {
  const counts = new Map<string, number>()
  for (const contestant of contestants) {
    const { perSecond } = await measureIntake(contestant, { ...one, mails: one.senders * 5 })
    counts.set(contestant.name, mailsFor(seconds, perSecond, one.senders))
  }
  return alternate(contestants, rounds, (contestant) =>
    measureIntake(contestant, { ...one, mails: counts.get(contestant.name) ?? 0 }),
  )
}

async function measureIntake(
  contestant: Contestant,
  sending: IntakeCase & { file: string; mails: number },
): Promise<IntakeResult> {
  const to = await contestant.recipient()
  const before = cpuOf(contestant)
  const start = performance.now()
  const perSecond = await sendMails({ ...sending, port: contestant.port, to })
  await contestant.drain?.(sending.mails)
  const seconds = (performance.now() - start) / 1000
  const after = cpuOf(contestant)
  return {
    perSecond,
    deliveredPerSecond: sending.mails / seconds,
    cpuPerThousand: ((after.server - before.server) / sending.mails) * 1000,
    storeCpuPerThousand: ((after.store - before.store) / sending.mails) * 1000,
  }
}

export function medianOf(
  results: ReadonlyMap<string, readonly IntakeResult[]>,
  name: string,
  field: keyof IntakeResult = 'perSecond',
): number {
  return median((results.get(name) ?? []).map((result) => result[field]))
}

const execute = promisify(execFile)

interface SendOptions {
  port: number
  to: string
  mails: number
  senders: number
  reuse: boolean
  /** Header and body. */
  file: string
}

/** Runs smtp-source and returns mails per second. Throws on any negative reply. */
export async function sendMails(sending: SendOptions, signal?: AbortSignal): Promise<number> {
  const { port, to, mails, senders, reuse, file } = sending
  const args = [
    ...(reuse ? ['-d'] : []),
    ...['-s', String(senders), '-m', String(mails), '-F', file, '-C', '10'],
    ...['-M', 'sender.test', '-f', 'ann@sender.test', '-t', to, `inet:127.0.0.1:${port}`],
  ]
  const start = performance.now()
  await execute(requireProgram('smtp-source', 'postfix'), args, signal ? { signal } : {})
  return mails / ((performance.now() - start) / 1000)
}

/** A multiple of `senders`, at least twice as many. */
function mailsFor(seconds: number, rate: number, senders: number): number {
  return Math.max(2, Math.ceil((seconds * rate) / senders)) * senders
}

/** Runs `work` during intake at full load; also returns the mails stored per second meanwhile. */
export async function whileSending<R>(
  mayfly: Mayfly,
  sending: Pick<SendOptions, 'file' | 'reuse' | 'senders'>,
  work: () => Promise<R>,
): Promise<{ mails: number; result: R }> {
  const { email } = await mayfly.session()
  const end = new AbortController()
  const sent = sendMails(
    { ...sending, port: mayfly.smtpPort, to: email, mails: 1_000_000 },
    end.signal,
  ).catch((error: unknown) => {
    if (!end.signal.aborted) throw error
  })
  await pause(300)
  const before = { mails: await storedMails(mayfly), at: performance.now() }
  const result = await Promise.race([work(), sent.then(() => failEarly())])
  const after = { mails: await storedMails(mayfly), at: performance.now() }
  end.abort()
  await sent
  return { mails: ((after.mails - before.mails) / (after.at - before.at)) * 1000, result }
}

function failEarly(): never {
  throw new Error('smtp-source exited early')
}

/** From the service's metrics. */
async function storedMails({ url }: Mayfly): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const count = /^mayfly_smtp_mails_total\{outcome="stored"\} (\d+)/m.exec(text)?.[1]
  if (count === undefined) throw new Error(`no mail counter in /metrics:\n${text.slice(0, 500)}`)
  return Number(count)
}

/** Sends the commands up to DATA; throws if one is rejected. */
export async function startData(smtp: SmtpClient, to: string): Promise<void> {
  for (const line of ['MAIL FROM:<ann@sender.test>', `RCPT TO:<${to}>`, 'DATA']) {
    const { code, text } = await smtp.command(line)
    if (code !== 250 && code !== 354) throw new Error(`${line}: ${text}`)
  }
}

/** The time of the 250 after DATA. */
export async function acceptedAt(smtp: SmtpClient): Promise<number> {
  const { code, text } = await smtp.readReply()
  if (code !== 250) throw new Error(`mail rejected: ${text}`)
  return performance.now()
}
