import { Agent } from 'node:http'
import type { SmtpClient } from '../../test/kit/smtp/smtp-client.ts'
import { mailText } from './mail-text.ts'
import { type Ports, proxiedClient } from './proxied-client.ts'

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
// If the service cannot keep up, nothing more is started, and it is reported.
const MAX_PENDING = 500

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

interface SoakLoad {
  /** Times of polls in milliseconds, and what failed or was left out, since the last call. */
  take(): { pollsMs: number[]; mails: number; failed: number }
  stop(): void
}

export function startLoad(ports: Ports, key: string): SoakLoad {
  const client = proxiedClient('192.0.2.1', ports)
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })
  const boxes: Box[] = []
  const mails = SIZES.map(([share, bytes]) => [share, mailText(bytes)] as const)
  const streams = new Set<() => void>()
  let [pending, failed, sent, pollsMs] = [0, 0, 0, [] as number[]]

  const anyBox = () => boxes[Math.floor(Math.random() * boxes.length)]
  const request = async (path: string, token: string, method = 'GET') => {
    const response = await client.send(path, { token, method, agent })
    if (response.status >= 400 && response.status !== 401 && response.status !== 404) {
      throw new Error(`${path}: ${response.status}`)
    }
    return response
  }

  const senders = Array.from({ length: SENDERS }, () => openSender(client.smtp))
  const work: Record<keyof typeof RATES, () => Promise<unknown>> = {
    async mails() {
      const pool = `p${Math.floor(Math.random() * POOL_ADDRESSES)}@pool.test`
      const to = Math.random() < TO_POOL ? pool : (anyBox()?.email ?? pool)
      const sender = senders[Math.floor(Math.random() * SENDERS)]
      const code = await sender?.(to, pick(mails))
      // A session may have ended meanwhile.
      if (code === 250 || code === 550) sent += 1
      else throw new Error(`mail: ${code}`)
    },
    async polls() {
      const box = anyBox()
      if (!box) return
      const start = performance.now()
      const { body } = await request('/api/check-mail?limit=20', box.token)
      pollsMs.push(performance.now() - start)
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
    if (pending >= MAX_PENDING) {
      failed += 1
      return
    }
    pending += 1
    try {
      await work[name]()
    } catch {
      failed += 1
    } finally {
      pending -= 1
    }
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
      const taken = { pollsMs, mails: sent, failed }
      ;[pollsMs, sent, failed] = [[], 0, 0]
      return taken
    },
    stop() {
      clearInterval(timer)
      for (const close of streams) close()
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

/** Sends one mail after the other on one connection, which is replaced now and then. */
function openSender(connect: () => Promise<SmtpClient>) {
  let last: Promise<unknown> = Promise.resolve()
  let connection: SmtpClient | undefined
  return (to: string, raw: string): Promise<number> => {
    const next = last.then(async () => {
      connection ??= await connect()
      const { code } = await connection.send({ to: [to], raw })
      if (code === 250 && Math.random() < 0.8) return code
      connection.close()
      connection = undefined
      return code
    })
    last = next.catch(() => (connection = undefined))
    return next
  }
}
