import { setTimeout as pause } from 'node:timers/promises'
import { stuffed } from '../../test/kit/smtp/smtp-client.ts'
import { acceptedAt, startData } from './intake.ts'
import type { ProxiedClient } from './proxied-client.ts'

export const OPERATIONS = ['read-mail', 'check-mail', 'intake', 'stream'] as const
type Operation = (typeof OPERATIONS)[number]

/** Milliseconds per operation. One that failed or could not be attempted counts as DEADLINE_MS. */
export type Latencies = Record<Operation, number[]> & { failed: number }

export const DEADLINE_MS = 5_000

// 400 mails a minute: below the limit of one address.
const INTERVAL_MS = 150

function noLatencies(): Latencies {
  return { 'read-mail': [], 'check-mail': [], intake: [], stream: [], failed: 0 }
}

export function mergeLatencies(list: readonly Latencies[]): Latencies {
  const all = noLatencies()
  for (const one of list) {
    for (const operation of OPERATIONS) all[operation].push(...one[operation])
    all.failed += one.failed
  }
  return all
}

/** A well-behaved client with an open event stream that repeatedly sends, lists and reads a new mail, each on a new connection. */
export async function openVictim(client: ProxiedClient) {
  const { email, token } = await client.session()
  const stream = await openStream(client, token)
  let mails = 0

  /** Polls even if the mail was not accepted. */
  async function cycle(latencies: Latencies): Promise<void> {
    const record = (operation: Operation, ms: number | undefined) => {
      latencies[operation].push(ms ?? DEADLINE_MS)
      if (ms === undefined) latencies.failed += 1
    }
    mails += 1
    const subject = `${client.ip} ${mails}`
    const event = stream.next(subject)
    const start = performance.now()
    const lastByteAt = await withTimeout(deliver(client, email, subject))
    record('intake', lastByteAt && performance.now() - start)
    const eventAt = lastByteAt && (await withTimeout(event))
    record('stream', lastByteAt && eventAt && eventAt - lastByteAt)
    const list = await timeRequest(client, '/api/check-mail?limit=1', token)
    record('check-mail', list?.ms)
    const [newest] = (list?.json['messages'] ?? []) as { id: number }[]
    const isNew = lastByteAt !== undefined && newest !== undefined
    const read = isNew
      ? await timeRequest(client, `/api/read-mail?id=${newest.id}`, token)
      : undefined
    record('read-mail', read?.ms)
  }

  return {
    /** Completes the cycle in progress when the time is up. */
    async measure(seconds: number): Promise<Latencies> {
      const latencies = noLatencies()
      const end = performance.now() + seconds * 1000
      while (performance.now() < end) {
        const next = performance.now() + INTERVAL_MS
        await cycle(latencies)
        await pause(Math.max(0, next - performance.now()))
      }
      return latencies
    },
    close: stream.close,
  }
}

/** The time at which the last byte of the accepted mail was written. */
async function deliver(client: ProxiedClient, to: string, subject: string): Promise<number> {
  const smtp = await client.smtp()
  try {
    await smtp.command('EHLO sender.test')
    await startData(smtp, to)
    const lastByteAt = performance.now()
    smtp.write(stuffed(`Subject: ${subject}\r\n\r\nYour verification code is 123456.\r\n`))
    await acceptedAt(smtp)
    return lastByteAt
  } finally {
    smtp.close()
  }
}

async function timeRequest(
  client: ProxiedClient,
  path: string,
  token: string,
): Promise<{ ms: number; json: Record<string, unknown> } | undefined> {
  const start = performance.now()
  const signal = AbortSignal.timeout(DEADLINE_MS)
  const response = await client.send(path, { token, signal }).catch(() => undefined)
  const ms = performance.now() - start
  if (response?.status !== 200) return undefined
  return { ms, json: JSON.parse(response.body.toString()) as Record<string, unknown> }
}

async function openStream(client: ProxiedClient, token: string) {
  const waiting = new Map<string, (at: number) => void>()
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
          waiting.get(subject)?.(performance.now())
      })
      resolve()
    })
  })
  return {
    /** The time at which the event of this mail arrives. */
    next: (subject: string) => new Promise<number>((resolve) => waiting.set(subject, resolve)),
    close: () => void opened.destroy(),
  }
}

/** Undefined on failure or timeout. */
async function withTimeout<Value>(work: Promise<Value>): Promise<Value | undefined> {
  const failed = (): undefined => {}
  const timer = new AbortController()
  const timeout = pause(DEADLINE_MS, undefined, { signal: timer.signal }).catch(failed)
  const value = await Promise.race([work.catch(failed), timeout])
  timer.abort()
  return value
}
