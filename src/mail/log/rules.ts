import { createHmac } from 'node:crypto'
import { parseHost } from '../../base/address.ts'
import { printable } from '../../base/text.ts'

// The mail log: a line for each mail and for each refused command. What a client wrote is escaped and capped.

export const MAIL_LOG_MODES = ['masked', 'full', 'off'] as const
export type MailLogMode = (typeof MAIL_LOG_MODES)[number]

/**
 * refused: 5xx, or by a rule; deferred: 4xx, or retried later; aborted: the connection ended during DATA; ignored: left in a Gmail
 * account.
 */
export const MAIL_LOG_RESULTS = ['accepted', 'refused', 'deferred', 'aborted', 'ignored'] as const
export type MailLogResult = (typeof MAIL_LOG_RESULTS)[number]

/** What happened, as it is known to those who received the mail. */
export interface MailLogEvent {
  at: Date
  result: MailLogResult
  /** The reply, or why a mail stays in its account. Never a text of the client. */
  reason: string
  /** An SMTP command, CONNECT, or FETCH. */
  command: string
  /** Our id of the mail, as in the reply. */
  id?: string | undefined
  ip?: string | undefined
  /** The Gmail account that it was fetched from. */
  account?: string | undefined
  helo?: string | undefined
  /** MAIL FROM; empty for a bounce, undefined before MAIL. */
  sender?: string | undefined
  recipients?: readonly LoggedRecipient[]
  size?: number
  /** Version and cipher. */
  tls?: string | undefined
  ms?: number
  /** How many such events the line stands for. */
  count?: number
}

export interface LoggedRecipient {
  address: string
  /** At the label of a wildcard domain, or perhaps. */
  wildcard?: boolean | undefined
}

/** A line as it is logged and stored. */
export interface MailLogLine {
  at: Date
  result: MailLogResult
  reason: string
  command: string
  id: string
  ip: string
  account: string
  helo: string
  /** A domain, or with `full` an address; `<>` for a bounce. */
  sender: string
  /** Separated by `, `. */
  recipients: string
  size: number
  tls: string
  ms: number
  count: number
}

const MAX_HELO = 100
const MAX_ADDRESS = 120
const MAX_SHOWN_RECIPIENTS = 10

export function mailLogLine(event: MailLogEvent, mode: MailLogMode): MailLogLine {
  const { at, result, reason, command, recipients = [], account } = event
  const shown = recipients
    .slice(0, MAX_SHOWN_RECIPIENTS)
    .map((one) => (mode === 'full' ? shownText(one.address, MAX_ADDRESS) : maskRecipient(one)))
  const more = recipients.length - shown.length
  return {
    at,
    result,
    reason,
    command,
    id: event.id ?? '',
    ip: event.ip ?? '',
    account: account === undefined ? '' : shownAccount(account, mode),
    helo: shownText(event.helo ?? '', MAX_HELO),
    sender: event.sender === undefined ? '' : shownSender(event.sender, mode),
    recipients: [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', '),
    size: event.size ?? 0,
    tls: event.tls ?? '',
    ms: Math.round(event.ms ?? 0),
    count: event.count ?? 1,
  }
}

/** Safe on a terminal and in a line of text, and of limited length. */
function shownText(text: string, maxLength: number): string {
  const escaped = printable(text.slice(0, maxLength)).toWellFormed()
  return text.length > maxLength ? `${escaped}…` : escaped
}

const HIDDEN = '…'

/**
 * `l…n@box.test`. A local part of fewer than five characters shows nothing, nor do the tag behind a `+` and the label of a wildcard
 * domain.
 */
export function maskRecipient({ address, wildcard = false }: LoggedRecipient): string {
  const at = address.lastIndexOf('@')
  // Only a bare postmaster has no domain.
  if (at === -1) return HIDDEN
  const [name = '', ...tag] = address.slice(0, at).split('+')
  const local = tag.length > 0 ? `${maskName(name)}+${HIDDEN}` : maskName(name)
  const host = shownText(address.slice(at + 1).toLowerCase(), MAX_ADDRESS)
  return `${local}@${wildcard ? withoutLabel(host) : host}`
}

function maskName(name: string): string {
  const characters = [...name]
  if (characters.length < 5) return HIDDEN
  return printable(`${characters[0]}${HIDDEN}${characters.at(-1)}`)
}

function withoutLabel(host: string): string {
  const [, ...parent] = host.split('.')
  return parent.length > 1 ? [HIDDEN, ...parent].join('.') : host
}

function shownSender(sender: string, mode: MailLogMode): string {
  if (sender === '') return '<>'
  if (mode === 'full') return shownText(sender, MAX_ADDRESS)
  return shownText(sender.slice(sender.lastIndexOf('@') + 1).toLowerCase(), MAX_ADDRESS)
}

function shownAccount(account: string, mode: MailLogMode): string {
  return mode === 'full' ? shownText(account, MAX_ADDRESS) : maskRecipient({ address: account })
}

// Look-ups of a whole address, of which the line shows little: an HMAC of each, with a key that is not in the same database.

export function mailLogKey(ledgerKey: Uint8Array): Uint8Array {
  return createHmac('sha256', ledgerKey).update('mail log').digest()
}

// RFC 2104, section 5: at least half of the hash.
const HMAC_BYTES = 16

export type Role = 'to' | 'from'

export function addressHash(key: Uint8Array, role: Role, address: string): string {
  return createHmac('sha256', key)
    .update(`${role} ${lookupForm(address)}`)
    .digest()
    .subarray(0, HMAC_BYTES)
    .toString('base64url')
}

/** Upper and lower case, and spellings of a domain, are the same. */
function lookupForm(address: string): string {
  const at = address.lastIndexOf('@')
  const host = address.slice(at + 1)
  return `${address.slice(0, at + 1)}${parseHost(host) ?? host}`.toLowerCase()
}

/** The hashes by which a line is found. */
export function eventHashes(key: Uint8Array, { sender = '', recipients = [] }: MailLogEvent) {
  const hashes = recipients.map(({ address }) => addressHash(key, 'to', address))
  if (sender !== '') hashes.push(addressHash(key, 'from', sender))
  return [...new Set(hashes)]
}
