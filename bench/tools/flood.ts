import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { BODY_FLOODS, type BodyFlood, floodRequests } from './body-floods.ts'
import { type ProxiedClient, proxiedClient } from './proxied-client.ts'
import type { FloodName } from './start-flood.ts'

// Runs one flood: NAME HTTP-PORT SMTP-PORT KEY [--quick]. All traffic comes from one IP address, at the default limits of one
// address. Prints `running` once started, and its counts on SIGTERM.

const [name, httpPort, smtpPort, key = ''] = process.argv.slice(2)
const quick = process.argv.includes('--quick')
const ports = { httpPort: Number(httpPort), smtpPort: Number(smtpPort) }
const client = proxiedClient('203.0.113.9', ports)

// Below the limits of 500 mails a minute and 50 requests a second.
const MAILS_PER_SECOND = 8
const REQUESTS_PER_SECOND = 45
const MAX_PENDING = 200

const counts: Record<string, number> = {}
function count(event: string): void {
  counts[event] = (counts[event] ?? 0) + 1
}

const FLOODS: Record<Exclude<FloodName, BodyFlood>, (attacker: ProxiedClient) => Promise<void>> = {
  async 'hostile mails'({ session, send }) {
    const { email, token } = await session()
    let newest = 0
    let pending = 0
    const read = async (id: number) => {
      if (pending >= MAX_PENDING) return
      pending += 1
      const response = await send(`/api/read-mail?id=${id}`, { token }).catch(() => undefined)
      count(`read-mail ${response?.status ?? 'failed'}`)
      pending -= 1
    }
    const readNew = async () => {
      const { body } = await send(`/api/check-mail?since_id=${newest}`, { token })
      const { messages = [] } = JSON.parse(body.toString()) as { messages?: { id: number }[] }
      for (const { id } of messages) void read(id)
      newest = Math.max(newest, ...messages.map(({ id }) => id))
    }
    await sendMails(email, hostileHtml(), readNew)
    const large = await session()
    const id = await storeMail(large, largeHtml())
    // Aborts after the first bytes: the server has then built the whole response.
    every(200, 6, () => abandon(`/api/read-mail?id=${id}`, large.token, 'first bytes'))
  },

  'large reads': (attacker) => readLarge(attacker, { ms: 200, times: 8 }),

  'bursts of large reads': (attacker) => readLarge(attacker, { ms: 500, times: 20 }),

  async attachments({ session }) {
    const box = await session()
    const id = await storeMail(box, largeAttachment())
    every(100, 5, () => abandon(`/api/attachment?id=${id}&index=0`, box.token, 100))
  },

  async streams({ session, open }) {
    const boxes = await Promise.all(Array.from({ length: 6 }, session))
    const all = boxes.map(({ email }) => email)
    const openStreams = async (streams: number) => {
      for (let number = 0; number < streams; number += 1) {
        const box = boxes[number % boxes.length]
        const stream = open('/api/events', box ? { token: box.token } : {}).end()
        stream
          .on('error', () => {})
          .on('response', (response) => response.on('error', () => {}).resume())
        count('streams')
        // Stays below the burst of 200 requests.
        if (number >= 180) await pause(1000 / 45)
      }
    }
    await openStreams(quick ? 180 : 420)
    await sendMails(all, () => 'Subject: flood\r\n\r\nYour verification code is 654321.\r\n')
  },

  async metrics({ send }) {
    const agent = new Agent({ keepAlive: true })
    for (let number = 0; number < 40; number += 1) {
      const again = (): Promise<void> =>
        send('/metrics', { agent })
          .then(({ status }) => count(`status ${status}`))
          .catch(() => pause(10))
          .then(again)
      void again()
    }
    await pause(500)
  },

  async 'idle connections'() {
    const connectIdle = () => {
      const socket = connect(ports.httpPort, '127.0.0.1', () => {
        socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n')
        count('connections')
      })
      socket.on('error', () => {}).on('data', () => {})
      socket.on('close', () => setTimeout(connectIdle, 2_000))
    }
    for (let number = 0; number < 1_000; number += 1) {
      connectIdle()
      if (number % 50 === 0) await pause(20)
    }
    await pause(500)
  },
}

async function sendBodies(flood: BodyFlood): Promise<void> {
  const requests = floodRequests(flood, `X-Forwarded-For: ${client.ip}`, key)
  let sent = 0
  every(1000 / REQUESTS_PER_SECOND, 1, () => {
    const bytes = requests[sent % requests.length]
    if (bytes) sendBytes(bytes)
    sent += 1
  })
  await pause(500)
}

/** Repeatedly reads one mail of 10 MB of HTML: each time that many requests at once, aborted at the first bytes. */
async function readLarge({ session }: ProxiedClient, { ms, times }: { ms: number; times: number }) {
  const box = await session()
  const id = await storeMail(box, largeHtml())
  every(ms, times, () => abandon(`/api/read-mail?id=${id}`, box.token, 'first bytes'))
  await pause(1_000)
}

/** Sends mails at the rate limit on one connection. */
async function sendMails(
  to: string | string[],
  makeMail: () => string,
  afterEach: () => Promise<void> = async () => {},
): Promise<void> {
  const smtp = await client.smtp()
  const loop = async () => {
    for (let code = 250; code !== 0; ) {
      const next = performance.now() + 1000 / MAILS_PER_SECOND
      code = (await smtp.send({ to: [to].flat(), raw: makeMail() })).code
      count(`mails ${code}`)
      await afterEach().catch(() => count('check-mail failed'))
      await pause(Math.max(0, next - performance.now()))
    }
  }
  void loop()
}

async function storeMail(
  { email, token }: { email: string; token: string },
  raw: string,
): Promise<number> {
  const smtp = await client.smtp()
  const { code, text } = await smtp.send({ to: [email], raw })
  smtp.close()
  if (code !== 250) throw new Error(`large mail rejected: ${text}`)
  const { body } = await client.send('/api/check-mail', { token })
  const { messages } = JSON.parse(body.toString()) as { messages: { id: number }[] }
  return messages[0]?.id ?? 0
}

function every(ms: number, times: number, work: () => void): void {
  setInterval(() => {
    for (let number = 0; number < times; number += 1) work()
  }, ms)
}

/** Sends a request and resets the connection after `at` milliseconds, or at the first bytes of the response. */
function abandon(path: string, token: string, at: number | 'first bytes'): void {
  const headers = `X-Forwarded-For: ${client.ip}\r\nAuthorization: Bearer ${token}`
  const socket = connect(ports.httpPort, '127.0.0.1', () => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`)
    count('requests')
    if (at !== 'first bytes') setTimeout(() => socket.resetAndDestroy(), at)
  })
  socket.on('error', () => {})
  if (at === 'first bytes') {
    socket.once('data', (bytes) => {
      count(`first bytes ${bytes.toString('latin1', 9, 12)}`)
      socket.resetAndDestroy()
    })
  }
}

/** Writes a whole request on a new connection, and counts its status. */
function sendBytes(bytes: Buffer): void {
  const socket = connect(ports.httpPort, '127.0.0.1', () => socket.write(bytes))
  socket.once('data', (received) => count(`status ${received.toString('latin1', 9, 12)}`))
  socket.on('data', () => {}).on('error', () => count('errors'))
}

/** 100 KB that take a second of CPU to convert to text. */
function hostileHtml(): () => string {
  const html = `${'<blockquote>'.repeat(200)}${'x'.repeat(4_000)}\r\n${'<br>y'.repeat(19_000)}`
  let mails = 0
  return () => {
    mails += 1
    return `Subject: ${mails}\r\nContent-Type: text/html\r\n\r\n${html}`
  }
}

function largeHtml(): string {
  const line = 'Lorem "ipsum" \\ dolor é sit amet, consectetur adipiscing elit, sed do eiusmod\r\n'
  const body = line.repeat(Math.floor(10_300_000 / Buffer.byteLength(line)))
  return `Subject: large\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${body}`
}

function largeAttachment(): string {
  const base64 = randomBytes(7_400_000)
    .toString('base64')
    .replace(/(.{76})/g, '$1\r\n')
  return [
    'Subject: large',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'hi',
    '--b',
    'Content-Type: application/octet-stream',
    'Content-Disposition: attachment; filename=a',
    'Content-Transfer-Encoding: base64',
    '',
    base64,
    '--b--',
    '',
  ].join('\r\n')
}

process.on('SIGTERM', () => {
  process.stdout.write(JSON.stringify(counts), () => process.exit(0))
})
const bodies = BODY_FLOODS.find((flood) => flood === name)
if (bodies) await sendBodies(bodies)
else await FLOODS[name as Exclude<FloodName, BodyFlood>](client)
process.stdout.write('running\n')
