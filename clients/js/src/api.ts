// Generated from the schemas of the routes by build/api-types.ts.

export type Session = {
  status: 'success'
  email: string
  token: string
  expires_at: string
  expires_at_iso: string
}

export type AddressRules = { only_from: string[]; max_messages: number | null }

export type MessageSummary = {
  id: number
  sender_name: string
  sender_email: string
  subject: string
  received_at: string
  received_at_iso: string
  code: string | null
  preview: string | null
  attachments: number | null
}

export type MessageList = {
  status: 'success'
  email: string
  expires_at: string
  expires_at_iso: string
  rules?: AddressRules
  full?: true
  messages: MessageSummary[]
  timed_out?: true
  incomplete?: true
}

export type Code = {
  value: string
  kind: 'digits' | 'letters_and_digits' | 'words'
  confidence: number
}

export type Link = {
  url: string
  text: string
  host: string
  kind: 'verify' | 'sign_in' | 'reset' | 'unsubscribe' | 'other'
}

export type CheckResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'

export type SenderChecks = { spf: CheckResult; dkim: CheckResult; dmarc: CheckResult }

export type NamedAddress = { name: string; address: string }

export type Attachment = {
  index: number
  filename: string
  content_type: string
  size: number
  content_id: string | null
  inline: boolean
  url: string
}

export type Header = { name: string; value: string }

export type Message = {
  id: number
  sender_name: string
  sender_email: string
  subject: string
  received_at: string
  received_at_iso: string
  code: string | null
  body_html: string | null
  truncated?: true
  size: number
  codes: Code[]
  links: Link[]
  auth: SenderChecks | null
  body_text: string | null
  to: NamedAddress[]
  cc: NamedAddress[]
  reply_to: NamedAddress[]
  message_id: string | null
  date: string | null
  attachments: Attachment[]
  headers?: Header[]
  raw_url: string
}

export type Email = {
  id: number
  from: string
  to: string
  subject: string
  date: string
  date_iso: string
  body: string
  truncated?: true
  code: string | null
  links: Link[]
  attachments: number
  has_html: boolean
}

export type EmailGroup = { address?: string; emails: Email[] }

/** The successful response of each route. */
export interface ApiResponses {
  'POST /api/create-session': Session
  'GET /api/check-mail': MessageList
  'GET /api/read-mail': { status: 'success'; message: Message }
  'POST /api/extend-session': Session
  'GET /emails': EmailGroup[]
}
