import { setTimeout as pause } from 'node:timers/promises'
import { type MessageSummary, stripTraceHeaders } from '../http/api-client.ts'
import { openKeyRing, type TestKey } from '../shop/keys.ts'
import { sha256, uniqueMail } from '../store/ledger.ts'
import { checkHistory } from './check-history.ts'
import type { Cluster } from './cluster.ts'
import { openRecorder, sendOnce, watchLeases } from './cluster-clients.ts'
import { NODES } from './cluster-config.ts'
import { type Entry, type ListedMail, openHistory } from './history.ts'

export type ClusterLoad = Awaited<ReturnType<typeof startClusterLoad>>

interface Mailbox {
  session: string
  address: string
  token: string
  /** Its listed mails, as far as the load has seen them. */
  seen: readonly ListedMail[]
}

interface LoadKey {
  name: string
  key: TestKey
}

const DOORS = [...NODES, 'haproxy'] as const
type Door = (typeof DOORS)[number]

const TIMEOUT_MS = 10_000
const PAUSE_MS = 150
const MAILBOXES = 12
const SENDERS = 3
/** A list has all mails of a mailbox. */
const LIST_LIMIT = 500
const DELIVERY_MS = 90_000
const SMALL_PLAN = 60
const LARGE_PLAN = 1_000_000
// Statuses that an outage explains. 0: no response.
const OUTAGE = [0, 408, 502, 503, 504]
const SMTP_OUTAGE = [0, 421, 451, 452]

/** Clients of a cluster that record everything; the history alone is checked afterwards. */
export async function startClusterLoad(cluster: Cluster, random: () => number) {
  const history = openHistory()
  const surprises = new Set<string>()
  const running: Promise<void>[] = []
  let stopping = false
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T

  const ring = await openKeyRing({
    config: { data: cluster.folder, store: cluster.store },
    now: () => new Date(),
  })
  async function issue(name: string, requests: number): Promise<LoadKey> {
    const key = await ring.issue({ requests })
    note({ kind: 'issue', key: name, requests }, 'operator', 'haproxy', history.now(), 'done')
    return { name, key }
  }
  const large = await issue('large', LARGE_PLAN)
  const other = await issue('other', LARGE_PLAN)
  const small = await issue('small', SMALL_PLAN)
  await ring.close()

  type Facts = Entry extends infer One ? (One extends Entry ? Omit<One, Common> : never) : never
  type Common = 'client' | 'node' | 'start' | 'end' | 'result'
  function note(
    facts: Facts,
    client: string,
    node: string,
    start: number,
    result: Entry['result'],
  ): void {
    history.record({ ...facts, client, node, start, end: history.now(), result } as Entry)
  }

  /** Status 0 without a complete response. */
  async function call(door: Door, path: string, init: RequestInit = {}) {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      const response = await fetch(`${cluster.url(door)}${path}`, { ...init, signal })
      return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
    } catch {
      return { status: 0, bytes: Buffer.alloc(0) }
    }
  }

  function resultOf(status: number, refusals: readonly number[], what: string): Entry['result'] {
    if (status === 200) return 'done'
    if (refusals.includes(status)) return 'refused'
    if (!OUTAGE.includes(status)) surprises.add(`HTTP ${status} to ${what}`)
    return 'unknown'
  }

  async function create(door: Door, session: string, options: { prefix?: string; key?: LoadKey }) {
    const { prefix = session, key } = options
    const start = history.now()
    const { status, bytes } = await call(door, '/api/create-session', {
      method: 'POST',
      body: new URLSearchParams({ prefix, domain: 'box.test' }),
      headers: key?.key.headers ?? {},
    })
    const result = resultOf(status, [409], 'create-session')
    const address = `${prefix}@box.test`
    const facts = { kind: 'create', address, session, ...(key ? { key: key.name } : {}) } as const
    note(facts, 'creator', door, start, result)
    if (result !== 'done') return undefined
    const { token } = JSON.parse(bytes.toString()) as { token: string }
    return { session, address, token, seen: [] } as Mailbox
  }

  async function send(client: string, door: Door, box: Mailbox): Promise<boolean> {
    const { uuid, raw, sha256: hash } = uniqueMail(200 + Math.floor(random() * 4_000))
    const start = history.now()
    const code = await sendOnce(cluster.smtp(door), box.address, raw)
    const isRefused = code >= 500
    if (code !== 250 && !isRefused && !SMTP_OUTAGE.includes(code)) surprises.add(`SMTP ${code}`)
    const result = code === 250 ? 'done' : isRefused ? 'refused' : 'unknown'
    note(
      { kind: 'send', mail: uuid, session: box.session, sha256: hash },
      client,
      door,
      start,
      result,
    )
    return code === 250
  }

  async function list(client: string, door: Door, box: Mailbox): Promise<boolean> {
    const start = history.now()
    const path = `/api/check-mail?token=${box.token}&limit=${LIST_LIMIT}`
    const { status, bytes } = await call(door, path)
    const result = resultOf(status, [401], 'check-mail')
    const mails = result === 'done' ? listed(bytes) : []
    if (result === 'done') box.seen = mails
    const { session } = box
    note({ kind: 'list', session, holder: session, mails }, client, door, start, result)
    return result === 'done'
  }

  function listed(bytes: Buffer): ListedMail[] {
    const { messages } = JSON.parse(bytes.toString()) as { messages: MessageSummary[] }
    return messages.map(({ id, subject }) => ({ id, mail: subject }))
  }

  /** The raw mail, with the token of any mailbox. */
  async function read(client: string, door: Door, box: Mailbox, as: Mailbox): Promise<void> {
    if (box.seen.length === 0) return
    const { id, mail } = pick(box.seen)
    const start = history.now()
    const { status, bytes } = await call(door, `/api/raw-mail?token=${as.token}&id=${id}`)
    const result = resultOf(status, [401, 404], 'raw-mail')
    const { session } = box
    const hash = result === 'done' ? { sha256: sha256(stripTraceHeaders(bytes)) } : {}
    const facts = { kind: 'read', session, holder: as.session, mail, ...hash } as const
    note(facts, client, door, start, result)
  }

  async function remove(client: string, door: Door, box: Mailbox, as: Mailbox): Promise<void> {
    if (box.seen.length === 0) return
    const { id, mail } = pick(box.seen)
    const start = history.now()
    const { status } = await call(door, '/api/delete-mail', {
      method: 'POST',
      body: new URLSearchParams({ token: as.token, id: `${id}` }),
    })
    const result = resultOf(status, [401, 404], 'delete-mail')
    const { session } = box
    note({ kind: 'delete', session, holder: as.session, mail }, client, door, start, result)
  }

  async function listAsNobody(client: string, door: Door, { session, token }: Mailbox) {
    const start = history.now()
    const wrong = `${token.slice(0, -2)}${token.endsWith('AA') ? 'QQ' : 'AA'}`
    const { status, bytes } = await call(door, `/api/check-mail?token=${wrong}`)
    const result = resultOf(status, [401], 'check-mail')
    const mails = result === 'done' ? listed(bytes) : []
    note({ kind: 'list', session, holder: 'nobody', mails }, client, door, start, result)
  }

  async function request(client: string, door: Door, { name, key }: LoadKey, to?: Mailbox) {
    const start = history.now()
    const query = to ? `?to=${to.address}` : ''
    const { status, bytes } = await call(door, `/emails${query}`, { headers: key.headers })
    const result = resultOf(status, [402], '/emails')
    type Found = { emails: { subject: string }[] }[]
    const found = result === 'done' ? (JSON.parse(bytes.toString()) as Found) : []
    const mails = found.flatMap(({ emails }) => emails.map(({ subject }) => subject))
    note({ kind: 'request', key: name, mails }, client, door, start, result)
  }

  const mailboxes: Mailbox[] = []
  /** Of every third the key may see the mail. */
  for (let at = 0; mailboxes.length < MAILBOXES && at < 2 * MAILBOXES; at += 1) {
    const key = mailboxes.length % 3 === 0 ? { key: large } : {}
    const box = await create(pick(DOORS), `box-${at}`, key)
    if (box) mailboxes.push(box)
  }

  const receiver = await openRecorder(cluster, history, random)
  let isSubscribed = false
  for (let attempt = 0; !isSubscribed && attempt < 5; attempt += 1)
    isSubscribed = await subscribe(`hook-${attempt}`)
  if (!isSubscribed || mailboxes.length < MAILBOXES) throw new Error('the cluster does not respond')

  async function subscribe(webhook: string): Promise<boolean> {
    const start = history.now()
    const body = new URLSearchParams({ url: `${receiver.url}/${webhook}` })
    const init = { method: 'POST', body, headers: large.key.headers }
    const { status } = await call('haproxy', '/webhooks', init)
    const result = status === 200 ? 'done' : 'unknown'
    note({ kind: 'subscribe', webhook, key: 'large' }, 'operator', 'haproxy', start, result)
    return result === 'done'
  }

  function loop(step: (turn: number) => Promise<void>): void {
    const run = async () => {
      for (let turn = 0; !stopping; turn += 1) {
        await step(turn)
        await pause(PAUSE_MS * (0.5 + random()))
      }
    }
    const done = run()
    done.catch(() => {})
    running.push(done)
  }

  for (let number = 0; number < SENDERS; number += 1) {
    const client = `sender ${number}`
    loop(async () => {
      const box = pick(mailboxes)
      // Right after the 250, every node that answers has the mail in its list.
      if (await send(client, pick(DOORS), box))
        await Promise.all(NODES.map((node) => list(client, node, box)))
    })
  }
  loop(async (turn) => {
    const [box, foreign] = [pick(mailboxes), pick(mailboxes)]
    await read('reader', pick(DOORS), box, box)
    await read('stranger', pick(DOORS), box, foreign)
    await listAsNobody('stranger', pick(DOORS), box)
    await remove('stranger', pick(DOORS), box, foreign === box ? { ...box, token: 'x' } : foreign)
    if (turn % 5 === 0) await remove('reader', pick(DOORS), box, box)
  })
  loop(async () => {
    await request('program', pick(DOORS), large)
    await request('stranger', pick(DOORS), other, pick(mailboxes))
  })
  loop(async (turn) => {
    // Several at once for one address, and for what is left of a plan.
    const prefix = `race-${turn}`
    const clients = NODES.flatMap((node) => [node, node])
    await Promise.all([
      ...clients.map((node, at) => create(node, `${prefix}-${at}`, { prefix })),
      ...(turn % 10 === 0 ? clients.map((node) => request('racer', node, small)) : []),
    ])
    await pause(1_000)
  })
  loop(async () => {
    await watchLeases(cluster, history)
    await pause(500)
  })

  return {
    history,
    surprises,
    /** To be called when everything is up again: the last look at every mailbox, on every node. */
    async finish(): Promise<void> {
      stopping = true
      await Promise.all(running)
      for (const box of mailboxes)
        for (const node of NODES)
          for (let tries = 0; !(await list('last', node, box)) && tries < 20; tries += 1)
            await pause(500)
      // Retries, and a lease that has to end first.
      const isMissing = () =>
        checkHistory(history.entries).some(({ rule }) => rule === 'not delivered')
      for (const end = history.now() + DELIVERY_MS; history.now() < end && isMissing(); )
        await pause(500)
    },
    async close(): Promise<void> {
      stopping = true
      await Promise.allSettled(running)
      receiver.close()
    },
  }
}
