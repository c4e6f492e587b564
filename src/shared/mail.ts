/** Read from the header block at intake; stored with every message. */
export interface HeaderSummary {
  senderName: string
  senderEmail: string
  subject: string
}

/** How a mail reached us; needed for `Received` and the sender checks. */
export interface Envelope {
  clientIp: string
  helo: string
  /** The text between the angle brackets; empty for `<>`. */
  mailFrom: string
  /** TLS version and cipher; undefined without TLS. */
  tls: string | undefined
  /** The protocol in `Received`: SMTP, ESMTP, ESMTPS, UTF8SMTP, … */
  protocol: string
}

/**
 * Raise it when a change makes the same mail parse differently, including its codes and links. Older stored results are then
 * recomputed when read; what lists show of the mail is not, because it was saved with the message.
 */
export const PARSE_VERSION = 2

/** Result of the full parse, stored next to the raw bytes. Plain JSON. */
export interface Mail {
  /** Missing in mail parsed by 0.3.0 and before. */
  version?: number | undefined
  from: NamedAddress[]
  to: NamedAddress[]
  cc: NamedAddress[]
  replyTo: NamedAddress[]
  messageId: string | null
  /** The Date header as ISO 8601; null if missing or invalid. */
  date: string | null
  /** Never both null: text is generated from HTML if there is only HTML. */
  text: string | null
  html: string | null
  /** The text of the HTML, if it says more than the text part. For pages without HTML. */
  htmlText?: { text: string; truncated: boolean } | undefined
  headers: { name: string; value: string }[]
  attachments: AttachmentInfo[]
  /** Most likely first. */
  codes: Code[]
  links: Link[]
  /** Set if a parser limit truncated the text. */
  truncated?: true
}

export const EMPTY_MAIL: Mail = {
  version: PARSE_VERSION,
  from: [],
  to: [],
  cc: [],
  replyTo: [],
  messageId: null,
  date: null,
  text: '',
  html: null,
  headers: [],
  attachments: [],
  codes: [],
  links: [],
}

/** A code that the recipient is asked to enter elsewhere. */
export interface Code {
  /** As entered: without spaces or hyphens that only group digits. */
  value: string
  kind: 'digits' | 'letters_and_digits' | 'words'
  /** From 0 to 1. */
  confidence: number
}

export interface Link {
  url: string
  text: string
  /** Host of the URL, in ASCII. */
  host: string
  kind: LinkKind
}

export const LINK_KINDS = ['verify', 'sign_in', 'reset', 'unsubscribe', 'other'] as const

export type LinkKind = (typeof LINK_KINDS)[number]

/** Links that a person is meant to follow: to verify an address, sign in or reset a password. */
export function isActionLink({ kind }: Pick<Link, 'kind'>): boolean {
  return kind === 'verify' || kind === 'sign_in' || kind === 'reset'
}

export interface SenderChecks {
  spf: CheckResult
  dkim: CheckResult
  dmarc: CheckResult
}

/** Result names of RFC 8601. */
export const CHECK_RESULTS = [
  'pass',
  'fail',
  'softfail',
  'neutral',
  'none',
  'temperror',
  'permerror',
] as const

export type CheckResult = (typeof CHECK_RESULTS)[number]

/** An entry of an address header. */
export interface NamedAddress {
  name: string
  address: string
}

/** Byte range of a part's body in the raw mail, and its transfer encoding. */
export interface PartPosition {
  start: number
  end: number
  encoding: string
}

/** An attachment without its bytes, which stay in the raw mail. */
export interface AttachmentInfo {
  index: number
  filename: string
  contentType: string
  size: number
  contentId: string | null
  inline: boolean
  position: PartPosition
}

export interface SenderCheckInput extends Pick<Envelope, 'clientIp' | 'helo' | 'mailFrom'> {
  /** The sender address that we display. */
  shown: string
  receivedAt: Date
  raw: Uint8Array
}

/** False if a later check may have another result. */
export function isConclusive({ spf, dkim, dmarc }: SenderChecks): boolean {
  return spf !== 'temperror' && dkim !== 'temperror' && dmarc !== 'temperror'
}
