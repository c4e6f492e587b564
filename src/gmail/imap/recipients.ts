import { type Address, hostOf, localOf, parseAddress } from '../../base/address.ts'
import { commentEnd, quotedEnd, readHeader } from '../../mime/header-fields.ts'

/** Fetched before any body: recipients and identity of a mail. */
export const HEAD_FIELDS = ['Delivered-To', 'X-Original-To', 'To', 'Cc', 'Received', 'Message-ID']

/** One header field; the name in lower case, the value unfolded, as latin1. */
interface Field {
  name: string
  value: string
}

// Mail servers reject much shorter headers. The number of lines is bounded by the bytes.
export const MAX_HEADER_BYTES = 256 * 1024
const LIMITS = { maxBytes: MAX_HEADER_BYTES, maxLines: MAX_HEADER_BYTES }
const MAX_FIELDS = 2_000
const BLANKS = /[ \t\r\n]+/g

export interface Fields {
  fields: Field[]
  /** True if a limit was reached, so that fields may be missing. */
  cut: boolean
}

/** The fields of a header block, or those of them that are wanted. */
export function readFields(
  block: Uint8Array,
  isWanted: (name: string) => boolean = () => true,
): Fields {
  const header = readHeader(block, LIMITS)
  const fields: Field[] = []
  for (const { key, value } of header.fields) {
    if (!isWanted(key)) continue
    if (fields.length === MAX_FIELDS) return { fields, cut: true }
    fields.push({ name: key, value: value.replace(BLANKS, ' ').trim() })
  }
  return { fields, cut: !header.complete }
}

// A mail to more addresses than this is for nobody in particular.
const MAX_CANDIDATES = 1_000

/** The addresses a mail may be for, exactly as written in it. */
export interface Candidates {
  /** Most likely first: Delivered-To, X-Original-To, To, Cc, then `for <…>` of the topmost Received. */
  all: Address[]
  /** Those outside Delivered-To. */
  notDeliveredTo: Address[]
  /** The topmost Delivered-To and the topmost X-Original-To, in header order. */
  topmost: Address[]
  /** False if there are more than were read. */
  complete: boolean
}

/** Addresses are taken literally: an alias matches only as a whole. */
export function candidates(fields: readonly Field[]): Candidates {
  const delivered = new Set<Address>()
  const written = new Set<Address>()
  for (const [name, found] of [
    ['delivered-to', delivered],
    ['x-original-to', written],
    ['to', written],
    ['cc', written],
  ] as const) {
    for (const field of fields) {
      if (field.name === name) for (const text of addressTexts(field.value)) add(found, text)
    }
  }
  const top = fields.find(({ name }) => name === 'received')
  if (top) add(written, forClause(top.value))
  const all = new Set([...delivered, ...written])
  const complete = Math.max(delivered.size, written.size) < MAX_CANDIDATES
  return { all: [...all], notDeliveredTo: [...written], topmost: topmost(fields), complete }
}

function topmost(fields: readonly Field[]): Address[] {
  const found = new Set<Address>()
  const names = new Set(['delivered-to', 'x-original-to'])
  for (const { name, value } of fields) {
    if (names.delete(name)) for (const text of addressTexts(value)) add(found, text)
  }
  return [...found]
}

function add(found: Set<Address>, text: string): void {
  if (found.size >= MAX_CANDIDATES) return
  const address = parseAddress(Buffer.from(text, 'latin1').toString('utf8'))
  if (address) found.add(address)
}

/** The address a server wrote after `for`. Comments, and everything before `by`, are controlled by the sender. */
function forClause(received: string): string {
  const plain = stripQuotesAndComments(received)
  const by = /(?:^| )by /i.exec(plain)?.index ?? 0
  return / for <([^<> ]+)>/i.exec(plain.slice(by))?.[1] ?? ''
}

/** The addresses of a list, including those in groups. Display names, comments and quoted text never count. */
function* addressTexts(value: string): Generator<string> {
  for (const entry of stripQuotesAndComments(value).split(/[,;]/)) {
    const angle = /<([^<>]*)>/.exec(entry)?.[1]
    if (angle !== undefined) yield angle.slice(angle.lastIndexOf(':') + 1).trim()
    else if (!entry.includes('<')) yield entry.slice(entry.lastIndexOf(':') + 1).trim()
  }
}

/** An unterminated quote or comment is left as it is. */
function stripQuotesAndComments(value: string): string {
  let plain = ''
  // After one unterminated quote or comment, further ones of its kind are unterminated, too. This keeps the scan linear.
  const unclosed = new Set<string>()
  for (let at = 0; at < value.length; ) {
    const char = value[at] ?? ''
    const end = unclosed.has(char) ? -1 : endOf(value, at)
    if (end > at) {
      plain += ' '
      at = end
      continue
    }
    if (char === '"' || char === '(') unclosed.add(char)
    plain += char
    at += 1
  }
  return plain
}

/** Past the end of the quoted text or comment that starts here; -1 if none does, or it is unterminated. */
function endOf(value: string, at: number): number {
  if (value[at] === '"') return quotedEnd(value, at)
  return value[at] === '(' ? commentEnd(value, at) : -1
}

// Known limit: an obsolete route with commas (`<@a,@b:c@d>`) is not recognized as an address.

interface AliasAccount {
  account: Address
  /** Gmail stores one copy of a mail, however many aliases it is for. */
  gmail: boolean
}

/** The aliases a mail is for, most likely first. */
export function selectRecipients(
  { all, notDeliveredTo, topmost }: Candidates,
  isAlias: (address: Address) => boolean,
  { account, gmail }: AliasAccount,
): Address[] {
  const others = notDeliveredTo.some((address) => isFormOf(address, account))
  const found = all.filter(
    (address) => isAlias(address) && !(others && isDeliveredOnly(address, notDeliveredTo)),
  )
  if (gmail) return found
  // One copy per recipient: this one is for the alias it was delivered to. Others named in it have a copy of their own, and must
  // not learn from this one who was in Bcc.
  const owner = topmost.find((address) => found.includes(address))
  return owner ? [owner] : found
}

/** Whether every alias named in the mail was selected or has a copy of its own. False if not all addresses were read. */
export function coversAllAliases(
  { all, topmost, complete }: Candidates,
  found: readonly Address[],
  isAlias: (address: Address) => boolean,
  { gmail }: AliasAccount,
): boolean {
  const isOwnCopy = !gmail && topmost.some((address) => found.includes(address))
  return complete && (isOwnCopy || all.every((one) => !isAlias(one) || found.includes(one)))
}

/**
 * A dot form that only the server wrote. It may write the account's address this way on every mail, as its owner once spelled
 * it: no evidence if the mail itself names the account in another form.
 */
function isDeliveredOnly(address: Address, written: readonly Address[]): boolean {
  return !localOf(address).includes('+') && !written.includes(address)
}

/** Whether the address is the account's: plain, with other dots, or with a tag. */
function isFormOf(address: Address, account: Address): boolean {
  return hostOf(address) === hostOf(account) && canonicalLocal(address) === canonicalLocal(account)
}

function canonicalLocal(address: Address): string {
  return localOf(address).replace(/\+.*/s, '').replaceAll('.', '')
}
