import { connectSmtp, stuffed } from '../../test/support/smtp-client.ts'
import type { Mayfly } from '../contestants/mayfly.ts'
import { mailText } from './mail-text.ts'
import { median, percentile } from './stats.ts'

/** One mail that was kept: when its 250 came, and how long after the last byte. */
interface Answered {
  at: number
  ms: number
}

/** What senders saw within a span of time. */
export interface Span {
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
export async function whileTimed<R>(
  mayfly: Mayfly,
  senders: number,
  work: (spanSince: (start: number) => Span) => Promise<R>,
): Promise<R> {
  const { email } = await mayfly.session()
  const answered: Answered[] = []
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
    return await Promise.race([work((start) => spanOf(answered, start, performance.now())), failed])
  } finally {
    end.abort()
    await sending
    failed.catch(() => {})
  }
}

async function sendUntil(
  signal: AbortSignal,
  { port, to, answered }: { port: number; to: string; answered: Answered[] },
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

function spanOf(answered: readonly Answered[], from: number, to: number): Span {
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
