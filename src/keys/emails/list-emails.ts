import type { Address } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import { isLarge } from '../../mail/read/large-reads.ts'
import type { Message } from '../../mail/rules/message.ts'
import { type EmailRecord, emailRecord, MAX_BODY_BYTES } from './email-record.ts'
import {
  type EmailQuery,
  type EmailsDeps,
  keyScope,
  type PageRequest,
  selectMessages,
} from './emails.ts'
import { searchEmails } from './search-emails.ts'

interface ListRequest extends PageRequest {
  /** What a response contains of a record. */
  toJson(record: EmailRecord): object
  /** Called with the expected size of the page before it is read. Throws if there is no room for it. */
  reserve(bytes: number): void
}

interface EmailPage {
  /** Newest first. */
  records: ListedEmail[]
  /** `beforeId` of the next page; undefined if there is none. */
  nextAfter: number | undefined
  /** Some messages could not be searched in time. */
  incomplete: boolean
}

export interface ListedEmail {
  id: number
  recipient: Address
  /** In UTF-8. */
  json: Buffer
}

const MAX_PAGE_BYTES = 8 * 1024 * 1024
// Mail can be crafted to be slow to parse. Results are stored, so the next page continues from there.
const MAX_PAGE_MS = 15_000
// Two processes parse: more at once would only wait there and use memory.
const AT_ONCE = 4

/** One page. It ends early if it grows too large or takes too long, but has at least one record. */
export async function listEmails(
  deps: EmailsDeps,
  query: EmailQuery,
  request: ListRequest,
): Promise<EmailPage> {
  const { search } = query
  const { messages, nextAfter, incomplete } =
    search === undefined
      ? { ...(await selectMessages(deps, query, request)), incomplete: false }
      : await searchEmails(deps, query, search, request)
  request.reserve(expectedBytes(messages))
  const readRecord = recordReader(deps, query, request)
  const records: ListedEmail[] = []
  const endedEarly = () => ({ records, nextAfter: records.at(-1)?.id, incomplete })
  const endsAt = deps.now().getTime() + MAX_PAGE_MS
  let bytes = 0
  for (let at = 0; at < messages.length; at += AT_ONCE) {
    const some = messages.slice(at, at + AT_ONCE)
    const read = await Promise.all(some.map(readRecord)).catch((error: unknown) => {
      const isBusy = error instanceof Problem && error.code === 'overloaded'
      if (records.length === 0 || !isBusy) throw error
    })
    if (!read) return endedEarly()
    for (const record of read.filter((found) => found !== undefined)) {
      bytes += record.json.length
      const isOver = bytes > MAX_PAGE_BYTES || deps.now().getTime() > endsAt
      if (records.length > 0 && isOver) return endedEarly()
      records.push(record)
    }
  }
  return { records, nextAfter, incomplete }
}

function expectedBytes(messages: readonly Message[]): number {
  const bytes = messages.reduce((sum, { size }) => sum + Math.min(size, MAX_BODY_BYTES), 0)
  return Math.min(bytes, MAX_PAGE_BYTES)
}

// 64 KB of text take a millisecond to read and to serialize; a short mail as long as 4 KB.
const STEP_BYTES = 64 * 1024
const MIN_COST_BYTES = 4 * 1024

/** Reads and serializes in steps: neither yields to other requests by itself. Undefined if the mail was deleted meanwhile. */
function recordReader(
  deps: EmailsDeps,
  query: EmailQuery,
  { client, signal, toJson }: ListRequest,
) {
  const reader = { client, ...(signal && { signal }) }
  let [room, turn] = [0, Promise.resolve()]

  /** Short mails share a step. */
  function nextStep({ size }: Message): Promise<void> {
    const cost = MIN_COST_BYTES + size
    if (cost > room) {
      room = STEP_BYTES
      turn = deps.steps.step({ ...reader, mailbox: `key ${query.keyId}` }, () => {})
    }
    room -= cost
    return turn
  }

  return async function read(message: Message): Promise<ListedEmail | undefined> {
    const { id, rawId, recipient, size } = message
    // A large mail has its own turn, and all who wait for it get it at the same time.
    if (!isLarge(message)) await nextStep(message)
    const mail = await deps.parsed(rawId, { ...reader, mailbox: recipient, size })
    if (mail) {
      if (isLarge(message)) await nextStep(message)
      const json = Buffer.from(JSON.stringify(toJson(emailRecord(message, mail))))
      return { id, recipient, json }
    }
    signal?.throwIfAborted()
    // An extended session may have moved to another partition, where its mail has other raw ids.
    const [moved] = await deps.store.readKeyMail(keyScope(deps, query), [id])
    return moved && moved.rawId !== rawId ? await read(moved) : undefined
  }
}
