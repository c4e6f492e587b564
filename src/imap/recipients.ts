import { type Address, hostOf, localOf, parseAddress } from '../core/address.ts'
import { commentEnd, quotedEnd } from '../mime/headers.ts'
import type { Field } from './header.ts'

/** The fields that are asked for before any body: who a mail is for, and which mail it is. */
export const HEAD_FIELDS = ['Delivered-To', 'X-Original-To', 'To', 'Cc', 'Received', 'Message-ID']

// Who sends one mail to more of us than this means nobody in particular.
const MAX_CANDIDATES = 1_000

/** The addresses a mail may be for, exactly as they are written there. */
export interface Candidates {
  /** Likeliest first: Delivered-To, X-Original-To, To, Cc, then `for <…>` of the topmost Received. */
  all: Address[]
  /** Those that stand elsewhere than in Delivered-To. */
  written: Address[]
  /** The topmost Delivered-To and the topmost X-Original-To, in the order of the header. */
  topmost: Address[]
  /** False if there are more than were read. */
  complete: boolean
}

/** Nothing is stripped or completed: an alias is the whole of itself. */
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
  return { all: [...all], written: [...written], topmost: topmost(fields), complete }
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

/** What a server wrote behind `for`. What the sender said of itself stands in comments and before `by`. */
function forClause(received: string): string {
  const plain = withoutNames(received)
  const by = /(?:^| )by /i.exec(plain)?.index ?? 0
  return / for <([^<> ]+)>/i.exec(plain.slice(by))?.[1] ?? ''
}

/** The addresses of a list, groups opened. Names, comments and quoted text are never taken for one. */
function* addressTexts(value: string): Generator<string> {
  for (const entry of withoutNames(value).split(/[,;]/)) {
    const angle = /<([^<>]*)>/.exec(entry)?.[1]
    if (angle !== undefined) yield angle.slice(angle.lastIndexOf(':') + 1).trim()
    else if (!entry.includes('<')) yield entry.slice(entry.lastIndexOf(':') + 1).trim()
  }
}

/** Without quoted text and comments; one that is never closed is left as it is. */
function withoutNames(value: string): string {
  let plain = ''
  // Once something is not closed, none of its kind that follows is: each character is looked at a few times only.
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

/** Behind the quoted text or comment that begins here; -1 when none does, or it does not end. */
function endOf(value: string, at: number): number {
  if (value[at] === '"') return quotedEnd(value, at)
  return value[at] === '(' ? commentEnd(value, at) : -1
}

// Limits: a route with commas (`<@a,@b:c@d>`) is read as no address; nobody has written one for thirty years.

interface Mailbox {
  account: Address
  /** Whether it is at Gmail, which files one copy of a mail, whoever of us it is for. */
  gmail: boolean
}

/** Which of the addresses that a mail names it is for; likeliest first. */
export function addressees(
  named: Candidates,
  isAlias: (address: Address) => boolean,
  { account, gmail }: Mailbox,
): Address[] {
  const { all, written, topmost } = named
  const others = written.some((address) => isSpelledLike(address, account))
  const found = all.filter(
    (address) => isAlias(address) && !(others && isDeliveredOnly(address, written)),
  )
  if (gmail) return found
  // A copy for each recipient: this one is for whom it says, and who is named beside has one of his own. He must not see
  // in this one who else got it unseen.
  const owner = topmost.find((address) => found.includes(address))
  return owner ? [owner] : found
}

/**
 * Whether each alias that a mail names is among those it is for, or has a copy of its own. False also where it names more
 * addresses than were read.
 */
export function isForNobodyElse(
  { all, topmost, complete }: Candidates,
  found: readonly Address[],
  isAlias: (address: Address) => boolean,
  { gmail }: Mailbox,
): boolean {
  const isOwnCopy = !gmail && topmost.some((address) => found.includes(address))
  return complete && (isOwnCopy || all.every((one) => !isAlias(one) || found.includes(one)))
}

/**
 * A dot form that only the server wrote. It may write the account's address so on everybody's mail, as its owner once
 * spelled it: no proof where the mail itself names the account in another form.
 */
function isDeliveredOnly(address: Address, written: readonly Address[]): boolean {
  return !localOf(address).includes('+') && !written.includes(address)
}

/** Whether both are forms of one account's address: bare, with other dots, or with a tag. */
function isSpelledLike(address: Address, account: Address): boolean {
  return hostOf(address) === hostOf(account) && lettersOf(address) === lettersOf(account)
}

function lettersOf(address: Address): string {
  return localOf(address).replace(/\+.*/s, '').replaceAll('.', '')
}
