import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { SmtpClient } from '../../test/kit/smtp/smtp-client.ts'
import { type Ledger, type TestMailbox, uniqueMail } from '../../test/kit/store/ledger.ts'
import { mailText } from './mail-text.ts'
import type { ProxiedClient } from './proxied-client.ts'

// A moderate mix of everything: short sessions, mail to them and to the pool, polls, reads, streams and deletions.

export const RATES = { mails: 80, polls: 50, reads: 10, sessions: 2, deletedMails: 2, emails: 2 }
export const SESSION_SECONDS = 60
export const STREAMS = 20
const STREAM_SECONDS = 20
// The others expire.
const ENDED_EARLY = 0.3
const TO_POOL = 0.35
const POOL_ADDRESSES = 500
const SENDERS = 8
const TICK_MS = 100
// About half a minute's work: if the service cannot keep up, nothing more is started, and it is reported.
const MAX_PENDING = 5_000
// Share of the mails, if there is a ledger.
const TO_LEDGER = 0.05
// A service that restarts; 0 is a closed connection.
const UNAVAILABLE = [0, 421, 451, 502, 503, 504]
const RETRY_MS = 500
const MAX_RETRIES = 120
const MAX_ERRORS = 5

/** Sizes in bytes, with the share of each. */
const SIZES: readonly (readonly [number, number])[] = [
  [0.8, 4_096],
  [0.18, 20_480],
  [0.02, 204_800],
]

interface Box {
  email: string
  token: string
  endsAt: number
  newest?: number
}

/** Since the last call. */
export interface Taken {
  pollsMs: number[]
  /** From MAIL to the reply after DATA. */
  acceptedMs: number[]
  mails: number
  /** Attempts that met a service that was restarting; they were made again. */
  retries: number
  /** What failed for good or was left out. */
  failed: number
  /** The first errors of those. */
  errors: string[]
}

export interface SoakLoad {
  take(): Taken
  /** Resolves when everything that was started is over. */
  stop(): Promise<void>
}

interface LoadOptions {
  client: Pick<ProxiedClient, 'send' | 'open' | 'smtp'>
  key: string
  /** Some mails are unique, go to these mailboxes, which last, and are recorded. */
  recorded?: { ledger: Ledger; boxes: readonly TestMailbox[] }
}

export function startLoad({ client, key, recorded }: LoadOptions): SoakLoad {
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })
  const boxes: Box[] = []
  const mails = SIZES.map(([share, bytes]) => [share, mailText(bytes)] as const)
  const streams = new Set<() => void>()
  let pending = 0
  let taken = nothingTaken()

  const anyBox = () => boxes[Math.floor(Math.random() * boxes.length)]
  const request = async (path: string, token: string, method = 'GET') => {
    const response = await retried(async () => {
      const start = performance.now()
      const { status, body } = await client.send(path, { token, method, agent })
      return { status, body, ms: performance.now() - start }
    })
    if (response.status >= 400 && response.status !== 401 && response.status !== 404) {
      throw new Error(`${path}: ${response.status}`)
    }
    return response
  }

  /** As senders and clients do while a service restarts. */
  async function retried<R extends { status: number }>(attempt: () => Promise<R>): Promise<R> {
    for (let left = MAX_RETRIES; ; left -= 1) {
      const result = await attempt().catch((error: Error) => ({ status: 0, error }))
      if (!('error' in result) && !UNAVAILABLE.includes(result.status)) return result
      if (left === 0) throw 'error' in result ? result.error : new Error(`still ${result.status}`)
      taken.retries += 1
      await pause(RETRY_MS)
    }
  }

  async function send(to: string, raw: string | Buffer, allowed: readonly number[]): Promise<void> {
    const sender = senders[Math.floor(Math.random() * SENDERS)]
    if (!sender) return
    const { status, ms } = await retried(() => sender(to, raw))
    if (!allowed.includes(status)) throw new Error(`mail: ${status}`)
    taken.mails += 1
    taken.acceptedMs.push(ms)
  }

  const senders = Array.from({ length: SENDERS }, () => openSender(client.smtp))
  const work: Record<keyof typeof RATES, () => Promise<unknown>> = {
    async mails() {
      const lasting = recorded?.boxes[Math.floor(Math.random() * recorded.boxes.length)]
      if (recorded && lasting && Math.random() < TO_LEDGER) {
        const { uuid, raw, sha256 } = uniqueMail(200 + Math.floor(Math.random() * 8_000))
        await send(lasting.email, raw, [250])
        recorded.ledger.write({ uuid, sha256, token: lasting.token })
        return
      }
      const pool = `p${Math.floor(Math.random() * POOL_ADDRESSES)}@pool.test`
      const to = Math.random() < TO_POOL ? pool : (anyBox()?.email ?? pool)
      // A session may have ended meanwhile.
      await send(to, pick(mails), [250, 550])
    },
    async polls() {
      const box = anyBox()
      if (!box) return
      const { body, ms } = await request('/api/check-mail?limit=20', box.token)
      taken.pollsMs.push(ms)
      const { messages = [] } = JSON.parse(body.toString()) as { messages?: { id: number }[] }
      if (messages[0]) box.newest = messages[0].id
    },
    async reads() {
      const box = boxes.find(({ newest }) => newest !== undefined)
      if (!box) return
      await request(`/api/read-mail?id=${box.newest}`, box.token)
      delete box.newest
    },
    async deletedMails() {
      const box = boxes.find(({ newest }) => newest !== undefined)
      if (box) await request(`/api/delete-mail?id=${box.newest}`, box.token, 'POST')
    },
    async sessions() {
      await endSome()
      const path = `/api/create-session?ttl=${SESSION_SECONDS}`
      const { body } = await request(path, '', 'POST')
      const box = JSON.parse(body.toString()) as Box
      boxes.push({ ...box, endsAt: performance.now() + SESSION_SECONDS * 1000 })
    },
    async emails() {
      const to = `p${Math.floor(Math.random() * POOL_ADDRESSES)}@pool.test`
      await request(`/emails?to=${to}`, key)
    },
  }

  async function endSome(): Promise<void> {
    while (boxes[0] && boxes[0].endsAt <= performance.now()) boxes.shift()
    const at = Math.floor(Math.random() * boxes.length)
    if (Math.random() > ENDED_EARLY || boxes.length < STREAMS) return
    const [ended] = boxes.splice(at, 1)
    if (ended) await request('/api/delete-session', ended.token, 'POST')
  }

  function keepStreams(): void {
    const box = anyBox()
    if (!box || streams.size >= STREAMS) return
    const stream = client.open('/api/events', { token: box.token }).end()
    const close = () => {
      stream.destroy()
      streams.delete(close)
    }
    streams.add(close)
    stream.on('error', close).on('response', (response) => {
      response.on('error', close).on('end', close).resume()
    })
    setTimeout(close, STREAM_SECONDS * 1000 * (0.5 + Math.random())).unref()
  }

  async function start(name: keyof typeof RATES): Promise<void> {
    if (pending >= MAX_PENDING) return fail(`${name}: left out`)
    pending += 1
    try {
      await work[name]()
    } catch (error) {
      fail(String(error))
    } finally {
      pending -= 1
    }
  }

  function fail(error: string): void {
    taken.failed += 1
    if (taken.errors.length < MAX_ERRORS) taken.errors.push(error)
  }

  const due = new Map(Object.keys(RATES).map((name) => [name as keyof typeof RATES, 0]))
  const timer = setInterval(() => {
    keepStreams()
    for (const [name, left] of due) {
      let now = left + (RATES[name] * TICK_MS) / 1000
      for (; now >= 1; now -= 1) {
        void start(name)
      }
      due.set(name, now)
    }
  }, TICK_MS)

  return {
    take() {
      const result = taken
      taken = nothingTaken()
      return result
    },
    async stop() {
      clearInterval(timer)
      for (const close of streams) close()
      while (pending > 0) await pause(TICK_MS)
      for (const sender of senders) sender.close()
      agent.destroy()
    },
  }
}

function pick(mails: readonly (readonly [number, string])[]): string {
  let left = Math.random()
  const found = mails.find(([share]) => {
    left -= share
    return left < 0
  })
  return (found ?? mails[0])?.[1] ?? ''
}

function nothingTaken(): Taken {
  return { pollsMs: [], acceptedMs: [], mails: 0, retries: 0, failed: 0, errors: [] }
}

/** Sends one mail after the other on one connection, which is replaced now and then. */
function openSender(connect: () => Promise<SmtpClient>) {
  let last: Promise<unknown> = Promise.resolve()
  let connection: SmtpClient | undefined
  const close = () => {
    connection?.close()
    connection = undefined
  }
  const send = (to: string, raw: string | Buffer): Promise<{ status: number; ms: number }> => {
    const next = last.then(async () => {
      connection ??= await connect()
      const start = performance.now()
      const { code } = await connection.send({ to: [to], raw })
      const ms = performance.now() - start
      if (code !== 250 || Math.random() > 0.8) close()
      return { status: code, ms }
    })
    last = next.catch(close)
    return next
  }
  return Object.assign(send, { close })
}
