import { once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { Mayfly } from '../contestants/mayfly.ts'
import { mailText } from './mail-text.ts'
import { type ProxiedClient, proxiedClient } from './proxied-client.ts'
import { openReceiver } from './webhook-receiver.ts'

// Single operations of senders and clients, to be repeated for their cost or mixed. Each comes from another address, so that
// rate limits are counted as for strangers.

const CLIENTS = 10_000
const LISTED = 3
const SIZES = { small: mailText(4_096), large: mailText(51_200) }

export interface OperationOptions {
  /** Operations go to one after the other; may grow. */
  nodes: readonly Mayfly[]
  keys: readonly string[]
  mailboxes: number
  streams: number
}

export type Operations = Awaited<ReturnType<typeof openOperations>>
export type OperationName = Parameters<Operations['perform']>[0]

interface Box {
  email: string
  token: string
  etag: string
  newest: number
}

export async function openOperations({ nodes, keys, mailboxes, streams }: OperationOptions) {
  const agent = new Agent({ keepAlive: true })
  const arrivals = openArrivals()
  const openStreams: ClientRequest[] = []
  const receiver = await openReceiver(arrivals.arrived)
  const clientOf = (at: number) => {
    const node = nodes[at % nodes.length]
    if (!node) throw new Error('there is no node')
    return proxiedClient(addressOf(at), node)
  }
  const fetchOk = async (at: number, path: string, options: object) => {
    const send = () => clientOf(at).send(path, { agent, ...options })
    // The service may close an idle connection just when it is used again.
    const response = await send().catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') return send()
      throw error
    })
    if (response.status !== 200 && response.status !== 304)
      throw new Error(`${path}: ${response.status} ${response.body}`)
    return response
  }

  async function send(at: number, to: string, size: keyof typeof SIZES, subject = 'cost') {
    const smtp = await clientOf(at).smtp()
    const raw = SIZES[size].replace(/^Subject:.*$/m, `Subject: ${subject}`)
    const { code, text } = await smtp.send({ to: [to], raw })
    smtp.close()
    if (code !== 250) throw new Error(`mail rejected: ${text}`)
  }

  /** Sends a mail and resolves when its event, webhook or response has arrived. */
  async function sendAndAwait(at: number, to: string): Promise<void> {
    const { subject, arrival } = arrivals.expect()
    await send(at, to, 'small', subject)
    await arrival
  }

  async function openBox(at: number): Promise<Box> {
    const { email, token } = await clientOf(at).session()
    return { email, token, etag: '', newest: 0 }
  }

  const openBoxes = (length: number) => Promise.all(Array.from({ length }, (_, at) => openBox(at)))

  async function listNew(box: Box, at: number, query = ''): Promise<void> {
    const path = `/api/check-mail?since_id=${box.newest}${query}`
    const { body } = await fetchOk(at, path, { token: box.token })
    box.newest = listOf(body)[0]?.id ?? box.newest
  }

  /** One with some mail, whose list does not change any more. */
  async function fill(box: Box, at: number): Promise<void> {
    for (let mail = 0; mail < LISTED; mail += 1) await send(at, box.email, 'small')
    await waitUntil(async () => {
      const { headers, body } = await fetchOk(at, '/api/check-mail', { token: box.token })
      box.etag = String(headers.etag)
      return listOf(body).every(({ preview }) => preview !== null)
    })
  }

  async function openStream({ token }: Box, at: number): Promise<void> {
    const stream = clientOf(at).open('/api/events', { token }).end()
    openStreams.push(stream)
    const [response] = (await once(stream, 'response')) as [IncomingMessage]
    stream.on('error', () => {})
    response.on('data', (chunk: Buffer) => arrivals.arrived(chunk.toString())).on('error', () => {})
  }

  const quiet = await openBoxes(mailboxes)
  const busy = await openBoxes(mailboxes)
  const awaited = await openBoxes(mailboxes)
  const watched = await openBoxes(streams)
  await inTurns(quiet.length, SETUP_CONCURRENCY, (at) => fill(boxOf(quiet, at), at))
  for (const [at, key] of keys.entries()) await addWebhooks(at, key)

  async function addWebhooks(number: number, key: string): Promise<void> {
    for (let at = 0; at < WEBHOOKS_PER_KEY; at += 1) {
      const to = hookAddress(number * WEBHOOKS_PER_KEY + at)
      const query = new URLSearchParams({ url: receiver.url, to })
      await fetchOk(at, `/webhooks?${query}`, { method: 'POST', token: key })
    }
  }

  const keyOf = (at: number) => keys[at % keys.length] ?? ''
  const run = {
    'mail of 4 KB': (at) => send(at, boxOf(busy, at).email, 'small'),
    'mail of 50 KB': (at) => send(at, boxOf(busy, at).email, 'large'),
    'mail of 4 KB, STARTTLS': (at) => sendByTls(clientOf(at), boxOf(busy, at).email),
    'mail to a stream': (at) => sendAndAwait(at, boxOf(watched, at).email),
    'mail to a wait': async (at) => {
      const box = boxOf(awaited, at)
      const response = listNew(box, at, '&wait=30')
      await send(at, box.email, 'small')
      await response
    },
    'mail and its first list': async (at) => {
      const box = boxOf(awaited, at)
      await send(at, box.email, 'small')
      await listNew(box, at)
    },
    'mail to a webhook': (at) =>
      sendAndAwait(at, hookAddress(at % (keys.length * WEBHOOKS_PER_KEY))),
    'poll, 304': async (at) => {
      const box = boxOf(quiet, at)
      const conditional = { token: box.token, headers: { 'if-none-match': box.etag } }
      const { headers } = await fetchOk(at, '/api/check-mail', conditional)
      // A list changes once more if a preview is stored after it was read.
      box.etag = String(headers.etag)
    },
    'poll, list': async (at) => {
      await fetchOk(at, '/api/check-mail', { token: boxOf(quiet, at).token })
    },
    session: async (at) => {
      await clientOf(at).session()
    },
    '/emails request': async (at) => {
      await fetchOk(at, `/emails?to=none${at % 100}@pool.test`, { token: keyOf(at) })
    },
  } satisfies Record<string, (at: number) => Promise<void>>
  const turns = new Map<string, number>()
  return {
    names: Object.keys(run) as (keyof typeof run)[],
    /** Goes to one node, mailbox and webhook after the other. */
    async perform(name: keyof typeof run): Promise<void> {
      const at = turns.get(name) ?? 0
      turns.set(name, at + 1)
      await run[name](at)
    },
    /** Opens the streams, each at a random node, and so often not at the one that receives the mail. */
    async watch(): Promise<void> {
      await inTurns(watched.length, SETUP_CONCURRENCY, (at) =>
        openStream(boxOf(watched, at), Math.floor(Math.random() * CLIENTS)),
      )
    },
    unwatch() {
      for (const stream of openStreams.splice(0)) stream.destroy()
    },
    close() {
      agent.destroy()
      receiver.close()
    },
  }
}

const listOf = (body: Buffer) =>
  (JSON.parse(body.toString()) as { messages: { id: number; preview: string | null }[] }).messages

const SETUP_CONCURRENCY = 20
const WEBHOOKS_PER_KEY = 10
const hookAddress = (at: number) => `hook${at}@pool.test`

const addressOf = (at: number) => `10.1.${Math.floor((at % CLIENTS) / 250)}.${at % 250}`

function boxOf(boxes: readonly Box[], at: number): Box {
  const box = boxes[at % boxes.length]
  if (!box) throw new Error('there are no mailboxes')
  return box
}

/** Calls with 0 to `count` - 1, some at the same time. */
async function inTurns(
  count: number,
  concurrency: number,
  run: (at: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) {
      next += 1
      await run(next - 1)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

/** So many at the same time, one after another; returns how many that were. */
export async function repeatFor(
  seconds: number,
  concurrency: number,
  run: () => Promise<void>,
): Promise<number> {
  const end = performance.now() + seconds * 1_000
  let count = 0
  const worker = async () => {
    while (performance.now() < end) {
      count += 1
      await run()
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return count
}

/** At this rate, at random times, however many are not done; returns how many that were. */
export async function arriveFor(
  seconds: number,
  perSecond: number,
  run: () => Promise<void>,
): Promise<number> {
  const running: Promise<void>[] = []
  const start = performance.now()
  for (let at = 0; at < seconds; at += -Math.log(1 - Math.random()) / perSecond) {
    await pause(Math.max(0, start + at * 1_000 - performance.now()))
    running.push(run())
  }
  await Promise.all(running)
  return running.length
}

/** Mails that a stream or webhook is expected to report, recognized by their subjects. */
function openArrivals() {
  const expected = new Map<string, () => void>()
  let last = 0
  return {
    expect() {
      last += 1
      const subject = `expected-${last}-`
      return { subject, arrival: new Promise<void>((resolve) => expected.set(subject, resolve)) }
    },
    arrived(content: string) {
      for (const [subject] of content.matchAll(/expected-\d+-/g)) {
        expected.get(subject)?.()
        expected.delete(subject)
      }
    },
  }
}

async function sendByTls({ ip, smtpPort }: ProxiedClient, to: string): Promise<void> {
  const connection = connect(smtpPort, '127.0.0.1')
  await once(connection, 'connect')
  connection.write(`PROXY TCP4 ${ip} 127.0.0.1 4000 25\r\n`)
  const transport = createTransport({
    connection,
    host: '127.0.0.1',
    requireTLS: true,
    tls: { rejectUnauthorized: false },
  })
  await transport.sendMail({
    envelope: { from: 'sender@sender.test', to: [to] },
    raw: SIZES.small,
  })
  transport.close()
}
