import { hash } from 'node:crypto'
import type { FetchMessageObject } from 'imapflow'
import type { Address } from '../../base/address.ts'
import type { ImapConnection } from './connection.ts'
import { ImapError } from './errors.ts'
import { type Candidates, candidates, type Fields, HEAD_FIELDS, readFields } from './recipients.ts'

/** What is known about a mail before its body is fetched. */
export interface Head {
  uid: number
  /** RFC822.SIZE; 0 if the server does not report it. */
  size: number
  /** INTERNALDATE; undefined if invalid. */
  receivedAt: Date | undefined
  candidates: Candidates
  /** Unchanged under another UID: Gmail's message id, or Message-ID, size and date. */
  fingerprint: string
  /** Compared with the header of the body, to detect the body of another mail. */
  sample: HeaderSample
}

/** The first of the fetched header fields. */
interface HeaderSample {
  fields: string[]
  /** True if there may be more fields, and more of the last one, than was read. */
  cut: boolean
}

const QUERY = { uid: true, size: true, internalDate: true, headers: HEAD_FIELDS }
const SAMPLE_FIELDS = 10
const SAMPLE_CHARS = 1_000

/** By ascending UID, without mails deleted meanwhile. */
export async function fetchHeads(
  connection: ImapConnection,
  uids: readonly number[],
): Promise<Head[]> {
  const found = await connection.run(async (client) => {
    const heads = new Map<number, Head>()
    for await (const message of client.fetch(uids.join(','), QUERY, { uid: true })) {
      // Unsolicited: changed flags, or a message that was not requested.
      if (!message.headers || !uids.includes(message.uid)) continue
      heads.set(message.uid, headOf(message, connection.isGmail))
    }
    return heads
  })
  const missing = uids.filter((uid) => !found.has(uid))
  if (missing.length > 0 && (await connection.search({ uid: missing.join(',') })).length > 0) {
    // The library skips responses that it cannot parse.
    throw new ImapError('invalid-data', 'the server does not return every message')
  }
  return [...found.values()].sort((a, b) => a.uid - b.uid)
}

function sampleFields({ fields, cut }: Fields): HeaderSample {
  return {
    fields: fields
      .slice(0, SAMPLE_FIELDS)
      .map(({ name, value }) => `${name}:${value}`.slice(0, SAMPLE_CHARS)),
    cut: cut && fields.length <= SAMPLE_FIELDS,
  }
}

/**
 * Identifies a mail for one alias. Servers other than Gmail store a copy per recipient, and the copies for two aliases of equal
 * length may differ in nothing but the alias.
 */
export function identityFor(head: Head, alias: Address): string {
  return hash('sha256', `${alias} ${head.fingerprint}`)
}

const HEAD_FIELD_NAMES = new Set(HEAD_FIELDS.map((name) => name.toLowerCase()))
const isHeadField = (name: string) => HEAD_FIELD_NAMES.has(name)

function headOf(message: FetchMessageObject, gmail: boolean): Head {
  const { uid, size = 0, internalDate, emailId } = message
  const read = readFields(message.headers ?? Buffer.alloc(0), isHeadField)
  const { fields } = read
  const found = candidates(fields)
  const receivedAt = internalDate instanceof Date ? internalDate : undefined
  const messageId = fields.find(({ name }) => name === 'message-id')?.value ?? ''
  const fingerprint = JSON.stringify([messageId, size, receivedAt?.toISOString() ?? ''])
  return {
    uid,
    size,
    receivedAt,
    candidates: { ...found, complete: found.complete && !read.cut },
    fingerprint: gmail && emailId ? `X-GM-MSGID ${emailId}` : fingerprint,
    sample: sampleFields(read),
  }
}

// Known limit: if a server stores one copy per alias without recording which alias it is for, and the copies differ in date or
// header length, aliases named in To receive the mail once per copy. Gmail stores one copy.

// RFC822.SIZE is approximate at some servers. A larger difference means a truncated body.
const SIZE_TOLERANCE = 0.1
const SIZE_TOLERANCE_BYTES = 100

/** The whole mail of this head; undefined if it was deleted. Never the body of another mail, nor part of one. */
export async function fetchBody(
  connection: ImapConnection,
  head: Head,
  timeoutMs: number,
): Promise<Uint8Array | undefined> {
  const { uid } = head
  const responses = await connection.run(
    (client) => client.fetchAll(String(uid), { uid: true, source: true }, { uid: true }),
    timeoutMs,
  )
  const sources = responses.filter(({ source }) => source !== undefined)
  if (sources.some((response) => response.uid !== uid) || sources.length > 1) {
    throw new ImapError('invalid-data', 'the server returned a message that was not requested')
  }
  const source = sources[0]?.source
  if (source) return verifyBody(source, head)
  if ((await connection.search({ uid: String(uid) })).length === 0) return undefined
  throw new ImapError('invalid-data', 'the server does not return a message that exists')
}

function verifyBody(source: Buffer, { size, sample }: Head): Uint8Array {
  if (source.length < size * (1 - SIZE_TOLERANCE) - SIZE_TOLERANCE_BYTES) {
    throw new ImapError('invalid-data', 'the server returned a truncated message')
  }
  if (!samplesMatch(sampleFields(readFields(source, isHeadField)), sample)) {
    throw new ImapError('invalid-data', 'the server returned the body of another message')
  }
  return source
}

/** An oversized header is read in part; both must agree as far as they were read. */
function samplesMatch(body: HeaderSample, head: HeaderSample): boolean {
  const [shorter, longer] = body.fields.length < head.fields.length ? [body, head] : [head, body]
  if (shorter.fields.length < longer.fields.length && !shorter.cut) return false
  if (longer.fields.length === 0) return false
  return shorter.fields.every((field, index) => {
    const other = longer.fields[index] ?? ''
    if (field === other) return true
    return (
      (mayBeTruncated(shorter, index) && other.startsWith(field)) ||
      (mayBeTruncated(longer, index) && field.startsWith(other))
    )
  })
}

function mayBeTruncated({ fields, cut }: HeaderSample, index: number): boolean {
  return cut && index === fields.length - 1
}
