import { setTimeout as pause } from 'node:timers/promises'
import { type SmtpClient, stuffed } from '../../test/support/smtp-client.ts'
import type { ProxiedClient } from './proxied-client.ts'

export const OPERATIONS = ['read-mail', 'check-mail', 'intake', 'stream'] as const
export type Operation = (typeof OPERATIONS)[number]

/** Milliseconds of every operation; one that failed or could not be tried counts as DEADLINE_MS. */
export type Latencies = Record<Operation, number[]> & { failed: number }

export const DEADLINE_MS = 5_000

// 400 mails a minute: within the limits of one address.
const PACE_MS = 150

export function noLatencies(): Latencies {
  return { 'read-mail': [], 'check-mail': [], intake: [], stream: [], failed: 0 }
}

/**
 * A well-behaved user with an open stream, who receives a mail, lists it and reads it for the first time, again and
 * again, with a new connection for everything.
 */
export async function openVictim(client: ProxiedClient) {
  const { email, token } = await client.session()
  const stream = await openStream(client, token)
  let mails = 0

  /** One mail from its connection to its first read. The list is asked for whatever became of the mail. */
  async function cycle(found: Latencies): Promise<void> {
    const note = (operation: Operation, ms: number | undefined) => {
      found[operation].push(ms ?? DEADLINE_MS)
      if (ms === undefined) found.failed += 1
    }
    mails += 1
    const subject = `${client.ip} ${mails}`
    const event = stream.next(subject)
    const start = performance.now()
    const lastByteAt = await within(deliver(client, email, subject))
    note('intake', lastByteAt && performance.now() - start)
    const eventAt = lastByteAt && (await within(event))
    note('stream', lastByteAt && eventAt && eventAt - lastByteAt)
    const list = await timed(client, '/api/check-mail?limit=1', token)
    note('check-mail', list?.ms)
    const [newest] = (list?.json['messages'] ?? []) as { id: number }[]
    const isNew = lastByteAt !== undefined && newest !== undefined
    const read = isNew ? await timed(client, `/api/read-mail?id=${newest.id}`, token) : undefined
    note('read-mail', read?.ms)
  }

  return {
    /** The mail under way at the end is still followed to its read. */
    async measure(seconds: number): Promise<Latencies> {
      const found = noLatencies()
      const end = performance.now() + seconds * 1000
      while (performance.now() < end) {
        const next = performance.now() + PACE_MS
        await cycle(found)
        await pause(Math.max(0, next - performance.now()))
      }
      return found
    },
    close: stream.close,
  }
}

/** When the last byte of an accepted mail was written. */
async function deliver(client: ProxiedClient, to: string, subject: string): Promise<number> {
  const smtp = await client.smtp()
  try {
    await expectReply(smtp, 'EHLO sender.test', 250)
    await expectReply(smtp, 'MAIL FROM:<ann@sender.test>', 250)
    await expectReply(smtp, `RCPT TO:<${to}>`, 250)
    await expectReply(smtp, 'DATA', 354)
    const lastByteAt = performance.now()
    smtp.write(stuffed(`Subject: ${subject}\r\n\r\nYour verification code is 123456.\r\n`))
    const { code, text } = await smtp.readReply()
    if (code !== 250) throw new Error(text)
    return lastByteAt
  } finally {
    smtp.close()
  }
}

async function expectReply(smtp: SmtpClient, line: string, expected: number): Promise<void> {
  const { code, text } = await smtp.command(line)
  if (code !== expected) throw new Error(`${line}: ${text}`)
}

async function timed(
  client: ProxiedClient,
  path: string,
  token: string,
): Promise<{ ms: number; json: Record<string, unknown> } | undefined> {
  const start = performance.now()
  const signal = AbortSignal.timeout(DEADLINE_MS)
  const response = await client.ask(path, { token, signal }).catch(() => undefined)
  const ms = performance.now() - start
  if (response?.status !== 200) return undefined
  return { ms, json: JSON.parse(response.body.toString()) as Record<string, unknown> }
}

/** The live events of a mailbox, kept open all the time. */
async function openStream(client: ProxiedClient, token: string) {
  const arrivals = new Map<string, (at: number) => void>()
  const opened = client.open('/api/events', { token }).end()
  await new Promise<void>((resolve, reject) => {
    opened.on('error', reject)
    opened.on('response', (response) => {
      let text = ''
      response.on('error', () => {})
      response.on('data', (chunk: Buffer) => {
        text += chunk
        const events = text.split('\n\n')
        text = events.pop() ?? ''
        for (const subject of events.flatMap(
          (event) => /"subject":"([^"]*)"/.exec(event)?.[1] ?? [],
        ))
          arrivals.get(subject)?.(performance.now())
      })
      resolve()
    })
  })
  return {
    /** When the event of this mail came. */
    next: (subject: string) => new Promise<number>((resolve) => arrivals.set(subject, resolve)),
    close: () => void opened.destroy(),
  }
}

/** Undefined if it fails or takes too long. */
async function within<Value>(work: Promise<Value>): Promise<Value | undefined> {
  const failed = (): undefined => {}
  const late = new AbortController()
  const timeout = pause(DEADLINE_MS, undefined, { signal: late.signal }).catch(failed)
  const value = await Promise.race([work.catch(failed), timeout])
  late.abort()
  return value
}
