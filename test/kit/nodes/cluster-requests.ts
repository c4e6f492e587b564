import { type MessageSummary, stripTraceHeaders } from '../http/api-client.ts'
import type { TestKey } from '../shop/keys.ts'
import { sha256, uniqueMail } from '../store/ledger.ts'
import type { Cluster } from './cluster.ts'
import { sendOnce } from './cluster-clients.ts'
import { NODES } from './cluster-config.ts'
import type { Entry, History, ListedMail } from './history.ts'

export interface Mailbox {
  session: string
  address: string
  token: string
  /** Its listed mails, as far as the load has seen them. */
  seen: readonly ListedMail[]
}

export interface LoadKey {
  name: string
  key: TestKey
}

/** Credentials, with which somebody reads a mail. */
interface Holder {
  name: string
  path(id: number): string
  headers: Record<string, string>
}

interface Init {
  method?: 'POST'
  body?: URLSearchParams
  headers?: Record<string, string>
}

export const DOORS = [...NODES, 'haproxy'] as const
export type Door = (typeof DOORS)[number]

const TIMEOUT_MS = 10_000
/** A list has all mails of a mailbox. */
const LIST_LIMIT = 500
// Statuses that an outage explains. 0: no response. 429: the moved clock of a node shortens what the others allow.
const OUTAGE = [0, 408, 429, 502, 503, 504]
const SMTP_OUTAGE = [0, 421, 451, 452]

/** Requests to a cluster, each recorded in the history. */
export function recordedRequests(cluster: Cluster, history: History, random: () => number) {
  /** Responses that nothing explains. */
  const surprises = new Set<string>()
  /** Tokens, keys and the content of mails: not to be logged. */
  const secrets = new Set<string>()
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T

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

  /** From one of many clients, so that the rate of none is limited. Status 0 without a complete response. */
  async function call(door: Door, path: string, { headers, ...init }: Init = {}) {
    const client = { 'x-forwarded-for': `192.0.2.${1 + Math.floor(random() * 250)}` }
    try {
      const response = await fetch(`${cluster.url(door)}${path}`, {
        ...init,
        headers: { ...client, ...headers },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
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
    secrets.add(token)
    return { session, address, token, seen: [] } as Mailbox
  }

  async function send(client: string, door: Door, box: Mailbox): Promise<Entry['result']> {
    const { uuid, raw, sha256: hash } = uniqueMail(200 + Math.floor(random() * 4_000))
    secrets.add(uuid)
    const start = history.now()
    const code = await sendOnce(cluster.smtp(door), box.address, raw)
    const isRefused = code >= 500
    if (code !== 250 && !isRefused && !SMTP_OUTAGE.includes(code)) surprises.add(`SMTP ${code}`)
    const result = code === 250 ? 'done' : isRefused ? 'refused' : 'unknown'
    const facts = { kind: 'send', mail: uuid, session: box.session, sha256: hash } as const
    note(facts, client, door, start, result)
    return result
  }

  async function list(client: string, door: Door, box: Mailbox, token = box.token) {
    const start = history.now()
    const { status, bytes } = await call(door, `/api/check-mail?token=${token}&limit=${LIST_LIMIT}`)
    const result = resultOf(status, [401], 'check-mail')
    const mails = result === 'done' ? listed(bytes) : []
    const isOwn = token === box.token
    if (result === 'done' && isOwn) box.seen = mails
    const { session } = box
    const holder = isOwn ? session : 'nobody'
    note({ kind: 'list', session, holder, mails }, client, door, start, result)
    return result
  }

  async function read(client: string, door: Door, { session, seen }: Mailbox, holder: Holder) {
    if (seen.length === 0) return
    const { id, mail } = pick(seen)
    const start = history.now()
    const { path, headers, name } = holder
    const { status, bytes } = await call(door, path(id), { headers })
    const result = resultOf(status, [401, 404], 'raw mail')
    const hash = result === 'done' ? { sha256: sha256(stripTraceHeaders(bytes)) } : {}
    note({ kind: 'read', session, holder: name, mail, ...hash }, client, door, start, result)
  }

  async function remove(client: string, door: Door, { session, seen }: Mailbox, as: Mailbox) {
    if (seen.length === 0) return
    const { id, mail } = pick(seen)
    const start = history.now()
    const { status } = await call(door, '/api/delete-mail', {
      method: 'POST',
      body: new URLSearchParams({ token: as.token, id: `${id}` }),
    })
    const result = resultOf(status, [401, 404], 'delete-mail')
    note({ kind: 'delete', session, holder: as.session, mail }, client, door, start, result)
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
    return result
  }

  async function subscribe(webhook: string, { name, key }: LoadKey, url: string): Promise<boolean> {
    const start = history.now()
    const body = new URLSearchParams({ url: `${url}/${webhook}` })
    const init = { method: 'POST', body, headers: key.headers } as const
    const { status, bytes } = await call('haproxy', '/webhooks', init)
    const result = status === 200 ? 'done' : 'unknown'
    note({ kind: 'subscribe', webhook, key: name }, 'operator', 'haproxy', start, result)
    if (result !== 'done') return false
    secrets.add((JSON.parse(bytes.toString()) as { webhook: { secret: string } }).webhook.secret)
    return true
  }

  return { surprises, secrets, note, pick, create, send, list, read, remove, request, subscribe }
}

function listed(bytes: Buffer): ListedMail[] {
  const { messages } = JSON.parse(bytes.toString()) as { messages: MessageSummary[] }
  return messages.map(({ id, subject }) => ({ id, mail: subject }))
}

export const byToken = ({ session, token }: Mailbox): Holder => ({
  name: session,
  path: (id) => `/api/raw-mail?token=${token}&id=${id}`,
  headers: {},
})

export const byKey = ({ name, key }: LoadKey): Holder => ({
  name,
  path: (id) => `/emails/${id}/raw`,
  headers: key.headers,
})
