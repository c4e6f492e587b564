import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { connectSmtp, stuffed } from '../../test/support/smtp-client.ts'
import type { Mayfly } from '../contestants/mayfly.ts'
import { mailText } from './mail-text.ts'
import { cpuOf, requireProgram } from './processes.ts'
import { alternate, median, percentile } from './report.ts'

export interface Contestant {
  name: string
  pid: number
  /** Of the database server that it keeps its mail in, if that is another process. */
  storePid?: number
  port: number
  recipient(): Promise<string>
  /** Waits for what is still to be done for mails that were answered. */
  drain?(mails: number): Promise<void>
}

export interface IntakeCase {
  name: string
  bytes: number
  kept: boolean
  senders: number
}

export interface IntakeResult {
  /** As the sender hears 250. */
  perSecond: number
  /** Until a reader can have the last of them. */
  donePerSecond: number
  cpuPerThousand: number
  storeCpuPerThousand: number
}

/** Every combination, the first list outermost. */
export function intakeCases(kilobytes: readonly number[], counts = [20, 100]): IntakeCase[] {
  return kilobytes.flatMap((kb) =>
    [false, true].flatMap((kept) =>
      counts.map((senders) => ({
        name: `${kb} KB, ${kept ? 'kept connections' : 'a connection per mail'}, ${senders} senders`,
        bytes: kb * 1024,
        kept,
        senders,
      })),
    ),
  )
}

/** Each contestant gets as many mails as it takes in so many seconds. */
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
    donePerSecond: sending.mails / seconds,
    cpuPerThousand: ((after.server - before.server) / sending.mails) * 1000,
    storeCpuPerThousand: ((after.store - before.store) / sending.mails) * 1000,
  }
}

/** The median of one figure over all rounds of one contestant. */
export function medianOf(
  outcomes: ReadonlyMap<string, readonly IntakeResult[]>,
  name: string,
  which: keyof IntakeResult = 'perSecond',
): number {
  return median((outcomes.get(name) ?? []).map((outcome) => outcome[which]))
}

const execute = promisify(execFile)

export interface SendOptions {
  port: number
  to: string
  mails: number
  senders: number
  /** Sends the next mail on the same connection. */
  kept: boolean
  /** Header and body as they stand in the file. */
  file: string
}

/** Mails a second as Postfix's smtp-source sees them. Anything but a positive reply fails. */
export async function sendMails(sending: SendOptions, signal?: AbortSignal): Promise<number> {
  const { port, to, mails, senders, kept, file } = sending
  const args = [
    ...(kept ? ['-d'] : []),
    ...['-s', String(senders), '-m', String(mails), '-F', file, '-C', '10'],
    ...['-M', 'sender.test', '-f', 'ann@sender.test', '-t', to, `inet:127.0.0.1:${port}`],
  ]
  const start = performance.now()
  await execute(requireProgram('smtp-source', 'postfix'), args, signal ? { signal } : {})
  return mails / ((performance.now() - start) / 1000)
}

/** As many mails as take that long at that rate, in whole rounds of all senders. */
export function mailsFor(seconds: number, rate: number, senders: number): number {
  return Math.max(2, Math.ceil((seconds * rate) / senders)) * senders
}

export interface IntakeLoad {
  file: string
  kept: boolean
  senders: number
}

/** Does the work while mail comes in at full speed; also says how many mails a second were kept meanwhile. */
export async function whileSending<R>(
  mayfly: Mayfly,
  sending: IntakeLoad,
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
  throw new Error('smtp-source ended before the work did')
}

/** By the service's own count. */
async function storedMails({ url }: Mayfly): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const count = /^mayfly_smtp_mails_total\{outcome="kept"\} (\d+)/m.exec(text)?.[1]
  if (count === undefined) throw new Error(`/metrics does not count mails:\n${text.slice(0, 500)}`)
  return Number(count)
}

/** One mail that was kept: when its 250 came, and how long after the last byte. */
interface AcceptedMail {
  at: number
  ms: number
}

/** What senders saw within a span of time. */
export interface IntakeTimes {
  perSecond: number
  p50Ms: number
  p99Ms: number
  worstMs: number
  /** The longest time in which nobody got a 250. */
  pauseMs: number
}

/**
 * Does the work while senders on kept connections send mails of 4 KB as fast as they are taken. smtp-source is faster, but
 * does not tell how long a mail took.
 */
export async function whileTimingIntake<R>(
  mayfly: Mayfly,
  senders: number,
  work: (spanSince: (start: number) => IntakeTimes) => Promise<R>,
): Promise<R> {
  const { email } = await mayfly.session()
  const answered: AcceptedMail[] = []
  const end = new AbortController()
  const sending = Promise.all(
    Array.from({ length: senders }, () =>
      sendUntil(end.signal, { port: mayfly.smtpPort, to: email, answered }),
    ),
  )
  const failed = sending.then(() => {
    throw new Error('the senders ended before the work did')
  })
  try {
    return await Promise.race([
      work((start) => timesOf(answered, start, performance.now())),
      failed,
    ])
  } finally {
    end.abort()
    await sending
    failed.catch(() => {})
  }
}

async function sendUntil(
  signal: AbortSignal,
  { port, to, answered }: { port: number; to: string; answered: AcceptedMail[] },
): Promise<void> {
  const bytes = stuffed(mailText(4096).replaceAll('\n', '\r\n'))
  const smtp = await connectSmtp(port)
  await smtp.command('EHLO sender.test')
  while (!signal.aborted) {
    for (const line of ['MAIL FROM:<ann@sender.test>', `RCPT TO:<${to}>`, 'DATA']) {
      await smtp.command(line)
    }
    const start = performance.now()
    smtp.write(bytes)
    const { code, text } = await smtp.readReply()
    if (code !== 250) throw new Error(`a mail was answered with ${text}`)
    const at = performance.now()
    answered.push({ at, ms: at - start })
  }
  smtp.close()
}

function timesOf(answered: readonly AcceptedMail[], from: number, to: number): IntakeTimes {
  const inside = answered.filter(({ at }) => at >= from && at <= to)
  const times = inside.map(({ ms }) => ms)
  const moments = [from, ...inside.map(({ at }) => at), to]
  const pauses = moments.slice(1).map((at, index) => at - (moments[index] ?? at))
  return {
    perSecond: (inside.length / (to - from)) * 1000,
    p50Ms: median(times),
    p99Ms: percentile(times, 0.99),
    worstMs: percentile(times, 1),
    pauseMs: percentile(pauses, 1),
  }
}
