import { setTimeout as pause } from 'node:timers/promises'
import { type Address, parseAddress } from '../base/address.ts'
import { timestampFields } from '../base/time.ts'
import { EMPTY_MAIL, type Mail } from '../shared/mail.ts'
import type { MailDeps } from './deps.ts'
import type { FoundMessage, OperatorStore, ScanPosition, Volume } from './operator-store.ts'
import type { ReadParsed } from './read/parsed-mail.ts'
import type { Message, RawMail } from './rules/message.ts'
import { type MailboxId, OPERATOR, POOL, type Session } from './rules/session.ts'
import type { MailStore } from './store.ts'

// Operations of the operator's commands on sessions and mail. Commands may run next to the service in their own process:
// waiting clients are not woken, but poll every few seconds.

export interface OperatorDeps {
  store: Pick<
    MailStore,
    keyof OperatorStore | 'endSession' | 'listMessageIds' | 'deleteMessages' | 'forgetLogLines'
  > & {
    /** Resolves when every new request sees the last write. */
    waitUntilVisible(): Promise<void>
  }
  now(): Date
}

/** Ends the live session with this address, and returns it as it was. Undefined if there is none. */
export async function endSessionByAddress(
  { store, now }: OperatorDeps,
  address: Address,
): Promise<Session | undefined> {
  const session = await store.findSessionByAddress(address, now())
  if (!session || !(await store.endSession(session.id, now()))) return undefined
  await store.waitUntilVisible()
  return session
}

const MAX_NAMED = 20
const MAX_TRIED = 200
const MAX_LOCAL_CHARS = 64
const MAX_HOST_CHARS = 253

/** Live sessions of addresses that a report of abuse names: of the first 20. */
export async function findNamedSessions(
  { store, now }: Pick<OperatorDeps, 'store' | 'now'>,
  text: string,
): Promise<Session[]> {
  const addresses = namedAddresses(text)
  const found = await Promise.all(
    addresses.map((address) => store.findSessionByAddress(address, now())),
  )
  return found.filter((session) => session !== undefined)
}

/** Looks around each @, so that the time grows with the text, whatever it is. */
function namedAddresses(text: string): Address[] {
  const addresses = new Set<Address>()
  let at = text.indexOf('@')
  for (let tried = 0; at >= 0 && tried < MAX_TRIED && addresses.size < MAX_NAMED; tried += 1) {
    const before = text.slice(Math.max(0, at - MAX_LOCAL_CHARS), at)
    const after = text.slice(at + 1, at + 1 + MAX_HOST_CHARS)
    const [local = ''] = /[a-z0-9][a-z0-9._+-]*$/i.exec(before) ?? []
    const [host = ''] = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+/i.exec(after) ?? []
    const address = parseAddress(`${local}@${host}`)
    if (address) addresses.add(address)
    at = text.indexOf('@', at + 1)
  }
  return [...addresses]
}

/** One message to postmaster or abuse. Undefined if there is none with this id: mail of others is never returned. */
export async function readOperatorMail(
  { store, parsed }: { store: Pick<MailStore, 'findMessage'>; parsed: ReadParsed },
  id: number,
  { client, signal }: { client?: string | undefined; signal?: AbortSignal } = {},
): Promise<{ message: Message; mail: Mail } | undefined> {
  const message = await store.findMessage(OPERATOR, id)
  if (!message) return undefined
  const { rawId, recipient: mailbox, size } = message
  const mail = await parsed(rawId, { client, mailbox, size, ...(signal && { signal }) })
  return { message, mail: mail ?? EMPTY_MAIL }
}

/** The same with its raw bytes. */
export async function readRawOperatorMail(
  {
    store,
    largeReads,
  }: Pick<MailDeps, 'largeReads'> & {
    store: Pick<MailStore, 'findMessage' | 'readRaw'>
  },
  id: number,
  { client, signal }: { client: string | undefined; signal: AbortSignal },
): Promise<{ message: Message; raw: RawMail } | undefined> {
  const message = await store.findMessage(OPERATOR, id)
  if (!message) return undefined
  const { rawId, recipient: mailbox, size } = message
  const raw = await largeReads.run(`raw ${rawId}`, { client, mailbox, size, signal }, () =>
    store.readRaw(rawId),
  )
  return raw && { message, raw }
}

/** Deletes one message of the operator's mailbox, all current ones, or those up to an id. */
export async function deleteOperatorMail(
  { store }: OperatorDeps,
  which: number | 'all' | { upToId: number },
): Promise<Volume> {
  const all = typeof which === 'number' ? [which] : await store.listMessageIds(OPERATOR)
  const ids = typeof which === 'object' ? all.filter((id) => id <= which.upToId) : all
  const deleted = { messages: 0, bytes: 0 }
  for (let start = 0; start < ids.length; start += BATCH_MESSAGES) {
    addVolume(
      deleted,
      await store.deleteMessages(OPERATOR, ids.slice(start, start + BATCH_MESSAGES)),
    )
  }
  if (deleted.messages > 0) await store.waitUntilVisible()
  return deleted
}

export interface DeletedMail {
  sessions: Volume & { mailboxes: number }
  pool: Volume
  operator: Volume
  /** False if it was interrupted: mail of this client may be left. */
  complete: boolean
}

/**
 * Deletes the mail that this client delivered from every mailbox, in small commits between the writes of the service. Mail that
 * arrives meanwhile may be left: run it again.
 */
export async function deleteMailFrom(
  { store }: OperatorDeps,
  clientIp: string,
  {
    signal,
    report,
  }: { signal: AbortSignal; report(progress: { examined: number; all: number }): void },
): Promise<DeletedMail> {
  const all = await store.countMail()
  let examined = 0
  const deleted = { sessions: emptyVolume(), pool: emptyVolume(), operator: emptyVolume() }
  const mailboxes = new Set<MailboxId>()
  let after: ScanPosition | undefined
  do {
    const page = await store.scanMail({ clientIp, after, limit: PAGE_MESSAGES })
    for (const { mailbox, ids } of batches(page.found)) {
      if (signal.aborted) break
      const started = performance.now()
      const removed = await store.deleteMessages(mailbox, ids)
      addVolume(deleted[kindOf(mailbox)], removed)
      if (removed.messages > 0) mailboxes.add(mailbox)
      // Pauses for as long as the commit took, leaving the service half of the writer's time.
      await pause(Math.max(performance.now() - started, 1))
    }
    examined += page.scanned
    // Mail keeps arriving, so more may be scanned than was counted.
    report({ examined, all: Math.max(all, examined) })
    after = page.next
  } while (after && !signal.aborted)
  if (mailboxes.size > 0) await store.waitUntilVisible()
  const sessions = [...mailboxes].filter((mailbox) => kindOf(mailbox) === 'sessions')
  return {
    ...deleted,
    sessions: { ...deleted.sessions, mailboxes: sessions.length },
    complete: !signal.aborted,
  }
}

const PAGE_MESSAGES = 1_000
// Small enough not to delay mail that waits for the commit.
const BATCH_MESSAGES = 200
const BATCH_BYTES = 20_000_000

/** Messages of one mailbox each, small enough for one commit. */
function* batches(
  found: readonly FoundMessage[],
): Generator<{ mailbox: MailboxId; ids: readonly number[] }> {
  for (const [mailbox, messages] of Map.groupBy(found, (message) => message.mailbox)) {
    let ids: number[] = []
    let bytes = 0
    for (const { id, size } of messages) {
      if (ids.length === BATCH_MESSAGES || (ids.length > 0 && bytes + size > BATCH_BYTES)) {
        yield { mailbox, ids }
        ids = []
        bytes = 0
      }
      ids.push(id)
      bytes += size
    }
    yield { mailbox, ids }
  }
}

function kindOf(mailbox: MailboxId): 'sessions' | 'pool' | 'operator' {
  if (mailbox === POOL) return 'pool'
  return mailbox === OPERATOR ? 'operator' : 'sessions'
}

function emptyVolume(): Volume {
  return { messages: 0, bytes: 0 }
}

function addVolume(sum: Volume, { messages, bytes }: Volume): void {
  sum.messages += messages
  sum.bytes += bytes
}

/** Never a token or its hash, never the key's id. */
export function sessionJson({ address, createdAt, expiresAt, count, bytes, keyId }: Session) {
  return {
    email: address,
    ...timestampFields('created_at', createdAt),
    ...timestampFields('expires_at', expiresAt),
    messages: count,
    bytes,
    key: keyId !== undefined,
  }
}
