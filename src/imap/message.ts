import { hash } from 'node:crypto'
import type { FetchMessageObject } from 'imapflow'
import type { Address } from '../core/address.ts'
import type { ImapSession } from './connection.ts'
import { ImapFault } from './errors.ts'
import { type Fields, readFields } from './header.ts'
import { type Candidates, candidates, HEAD_FIELDS } from './recipients.ts'

/** What is known of a mail before its body is fetched. */
export interface Head {
  uid: number
  /** RFC822.SIZE; 0 where the server does not tell. */
  size: number
  /** INTERNALDATE; undefined where it cannot be read. */
  receivedAt: Date | undefined
  named: Candidates
  /** What is the same of it under another number: Gmail's own id, or Message-ID, size and date. */
  traits: string
  /** Its body must have the same. */
  opening: Opening
}

/** The first of the fields that are looked at, to be compared. */
export interface Opening {
  fields: string[]
  /** True when there may be more of them, and more of the last, than was read. */
  cut: boolean
}

const QUERY = { uid: true, size: true, internalDate: true, headers: HEAD_FIELDS }
const OPENING_FIELDS = 10
const OPENING_CHARS = 1_000

/** The heads of these mails in the order of their UIDs, without those that are gone meanwhile. */
export async function fetchHeads(session: ImapSession, uids: readonly number[]): Promise<Head[]> {
  const found = await session.ask(async (client) => {
    const heads = new Map<number, Head>()
    for await (const message of client.fetch(uids.join(','), QUERY, { uid: true })) {
      // Told unasked, of flags that changed, or of a mail that was not asked for.
      if (!message.headers || !uids.includes(message.uid)) continue
      heads.set(message.uid, headOf(message, session.gmail))
    }
    return heads
  })
  const missing = uids.filter((uid) => !found.has(uid))
  if (missing.length > 0 && (await session.search({ uid: missing.join(',') })).length > 0) {
    // The library passes over an answer that it cannot read; the mail is there all the same.
    throw new ImapFault('doubtful', 'the server does not show all of its mail')
  }
  return [...found.values()].sort((a, b) => a.uid - b.uid)
}

/** Of a head or of a whole mail. */
export function openingOf(block: Uint8Array): Opening {
  return openingIn(readFields(block, isLookedAt))
}

function openingIn({ fields, cut }: Fields): Opening {
  return {
    fields: fields
      .slice(0, OPENING_FIELDS)
      .map(({ name, value }) => `${name}:${value}`.slice(0, OPENING_CHARS)),
    cut: cut && fields.length <= OPENING_FIELDS,
  }
}

/**
 * By what a mail is known for one alias. Servers other than Gmail file a copy for each recipient, and copies for two
 * aliases of equal length differ in nothing else than the alias.
 */
export function identityFor(head: Head, alias: Address): string {
  return hash('sha256', `${alias} ${head.traits}`)
}

const LOOKED_AT = new Set(HEAD_FIELDS.map((name) => name.toLowerCase()))
const isLookedAt = (name: string) => LOOKED_AT.has(name)

function headOf(message: FetchMessageObject, gmail: boolean): Head {
  const { uid, size = 0, internalDate, emailId } = message
  const read = readFields(message.headers ?? Buffer.alloc(0), isLookedAt)
  const { fields } = read
  const named = candidates(fields)
  const receivedAt = internalDate instanceof Date ? internalDate : undefined
  const messageId = fields.find(({ name }) => name === 'message-id')?.value ?? ''
  const traits = JSON.stringify([messageId, size, receivedAt?.toISOString() ?? ''])
  return {
    uid,
    size,
    receivedAt,
    named: { ...named, complete: named.complete && !read.cut },
    traits: gmail && emailId ? `X-GM-MSGID ${emailId}` : traits,
    opening: openingIn(read),
  }
}

// Limits: a server that files one copy for each alias and does not write which one it is for, at different seconds or with
// headers of different length, shows the mail once for each copy to aliases that its To names. Gmail files one.

// RFC822.SIZE is an estimate at some servers. What is missing beyond this was cut off.
const SHORT_BY = 0.1
const SHORT_BY_BYTES = 100

/** The whole mail that belongs to this head; undefined when it is gone. Never another mail's body, nor half of one. */
export async function fetchBody(
  session: ImapSession,
  head: Head,
  withinMs: number,
): Promise<Uint8Array | undefined> {
  const { uid } = head
  const answers = await session.ask(
    (client) => client.fetchAll(String(uid), { uid: true, source: true }, { uid: true }),
    withinMs,
  )
  const sources = answers.filter(({ source }) => source !== undefined)
  if (sources.some((answer) => answer.uid !== uid) || sources.length > 1) {
    throw new ImapFault('doubtful', 'the server sends another mail than the one asked for')
  }
  const source = sources[0]?.source
  if (source) return checked(source, head)
  if ((await session.search({ uid: String(uid) })).length === 0) return undefined
  throw new ImapFault('doubtful', 'the server does not show a mail that it has')
}

function checked(source: Buffer, { size, opening }: Head): Uint8Array {
  if (source.length < size * (1 - SHORT_BY) - SHORT_BY_BYTES) {
    throw new ImapFault('doubtful', 'the server sends only part of a mail')
  }
  if (!agree(openingOf(source), opening)) {
    throw new ImapFault('doubtful', 'the server sends a body that is not this mail’s')
  }
  return source
}

/** A header beyond all measure is read in part; as far as both were read they must be the same. */
function agree(own: Opening, asked: Opening): boolean {
  const [shorter, longer] = own.fields.length < asked.fields.length ? [own, asked] : [asked, own]
  if (shorter.fields.length < longer.fields.length && !shorter.cut) return false
  if (longer.fields.length === 0) return false
  return shorter.fields.every((field, at) => {
    const other = longer.fields[at] ?? ''
    if (field === other) return true
    return (
      (isBeginning(shorter, at) && other.startsWith(field)) ||
      (isBeginning(longer, at) && field.startsWith(other))
    )
  })
}

/** Whether only the beginning of this field may have been read. */
function isBeginning({ fields, cut }: Opening, at: number): boolean {
  return cut && at === fields.length - 1
}
