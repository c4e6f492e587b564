import type { Address } from './address.ts'

/** What the header look at intake reads; kept with every message. */
export interface HeaderSummary {
  senderName: string
  senderEmail: string
  subject: string
}

/** How a mail reached us; `Received` and the sender checks need it. */
export interface Envelope {
  clientIp: string
  helo: string
  /** As written between the angle brackets; empty for `<>`. */
  mailFrom: string
  /** The TLS version and cipher, undefined on a plain connection. */
  tls: string | undefined
  /** The protocol word of `Received`: SMTP, ESMTP, ESMTPS, UTF8SMTP, … */
  protocol: string
}

export interface MessageSummary extends HeaderSummary {
  id: number
  receivedAt: Date
  /** The likeliest code that somebody waits for; empty: it has none; undefined: nobody has looked yet. */
  code: string | undefined
}

/** A mail kept for one mailbox. */
export interface Message extends MessageSummary {
  rawId: number
  recipient: Address
  size: number
}

/** The bytes as they came, with the way they came. */
export interface RawMail extends Envelope {
  bytes: Uint8Array
  receivedAt: Date
}

/** The outcome of the full parse, kept beside the raw bytes. Plain JSON. */
export interface Mail {
  from: NamedAddress[]
  to: NamedAddress[]
  cc: NamedAddress[]
  replyTo: NamedAddress[]
  messageId: string | null
  /** The Date header as ISO 8601, null when absent or unreadable. */
  date: string | null
  /** Never both null: text is made from HTML where only HTML came. */
  text: string | null
  html: string | null
  headers: { name: string; value: string }[]
  attachments: AttachmentInfo[]
  /** The likeliest first. */
  codes: Code[]
  links: Link[]
  /** Set when a limit of parsing has cut the text. */
  truncated?: true
}

export const EMPTY_MAIL: Mail = {
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

/** What somebody is asked to type in elsewhere. */
export interface Code {
  /** As it is typed: without the spaces or hyphens that only make it readable. */
  value: string
  kind: 'digits' | 'letters_and_digits'
  /** From 0 to 1. */
  confidence: number
}

export interface Link {
  url: string
  /** What the mail calls it. */
  text: string
  /** Where it really leads, in ASCII. */
  host: string
  kind: LinkKind
}

export const LINK_KINDS = ['verify', 'sign_in', 'reset', 'unsubscribe', 'other'] as const
export type LinkKind = (typeof LINK_KINDS)[number]

/** Whether a mail comes from whom it names, as the DNS of the sender's domain says. */
export interface SenderChecks {
  spf: CheckResult
  dkim: CheckResult
  dmarc: CheckResult
}

/** RFC 8601's words. */
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

/** A name and an address as a header gives them. */
export interface NamedAddress {
  name: string
  address: string
}

/** Where in the raw mail a part's body stands, and how it is encoded. */
export interface PartPosition {
  start: number
  end: number
  encoding: string
}

/** What is told of an attachment; its bytes stay in the raw mail. */
export interface AttachmentInfo {
  index: number
  filename: string
  contentType: string
  size: number
  contentId: string | null
  inline: boolean
  /** Absent in what version 0.1.0 stored: such a mail is parsed once more. */
  position?: PartPosition
}

/** What the sender checks are made from. */
export interface SenderCheckInput extends Pick<Envelope, 'clientIp' | 'helo' | 'mailFrom'> {
  /** The address that readers see as the sender's. */
  shown: string
  receivedAt: Date
  raw: Uint8Array
}

/** False while a later look may find out more. */
export function isConclusive({ spf, dkim, dmarc }: SenderChecks): boolean {
  return spf !== 'temperror' && dkim !== 'temperror' && dmarc !== 'temperror'
}
