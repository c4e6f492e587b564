// Generated from the schemas of the routes by build/api-types.ts.

export type Domain = { id: number; domain: string; wildcard?: true }

export type GmailAccount = { id: number; email: string }

export type Domains = {
  status: 'success'
  domains: Domain[]
  gmail_accounts: GmailAccount[]
}

export type Session = {
  status: 'success'
  email: string
  token: string
  expires_at: string
  expires_at_iso: string
  permanent?: true
}

export type AddressRules = {
  only_from: string[]
  max_messages: number | null
  refused: number
}

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
  permanent?: true
  rules?: AddressRules
  label?: string
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

export type SessionSettings = {
  status: 'success'
  email: string
  expires_at: string
  expires_at_iso: string
  permanent?: true
  rules?: AddressRules
  label?: string
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

export type EmailAttachment = {
  index: number
  filename: string
  content_type: string
  size: number
}

export type WholeEmail = {
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
  attachments: EmailAttachment[]
  has_html: boolean
  body_html: string | null
  size: number
  codes: Code[]
  auth: SenderChecks | null
  address: string
}

export type KeySession = {
  email: string
  expires_at: string
  expires_at_iso: string
  permanent?: true
  created_at: string
  created_at_iso: string
  messages: number
  rules?: AddressRules
  label: string | null
}

export type KeySessions = {
  status: 'success'
  sessions: KeySession[]
  next_cursor: string | null
}

export type Confirmation = { status: 'success'; message: string }

export type DomainWarning = {
  code: 'record_missing' | 'key_stopped' | 'key_expired' | 'key_expires'
  domain: string | null
  at: string
  at_iso: string
}

export type Usage = {
  status: 'success'
  plan: string
  label: string
  prefix: string
  state: string
  requests: number
  used: number
  remaining: number
  per_day: number | null
  used_today: number
  remaining_today: number | null
  resets_at: string
  resets_at_iso: string
  expires_at: string | null
  expires_at_iso: string | null
  days: { date: string; requests: number }[]
  domains: { limit: number; used: number }
  warnings: DomainWarning[]
}

export type NewWebhook = {
  id: string
  url: string
  state: 'active' | 'failing' | 'paused' | 'disabled'
  reason: string | null
  to: string | null
  from: string | null
  subject: string | null
  created_at: string
  created_at_iso: string
  last_delivery_at: string | null
  last_delivery_at_iso: string | null
  last_message_id: number | null
  next_attempt_at: string | null
  next_attempt_at_iso: string | null
  gap_since: string | null
  gap_since_iso: string | null
  backlog: number | null
  old_secret_until: string | null
  old_secret_until_iso: string | null
  secret: string
}

export type Webhook = {
  id: string
  url: string
  state: 'active' | 'failing' | 'paused' | 'disabled'
  reason: string | null
  to: string | null
  from: string | null
  subject: string | null
  created_at: string
  created_at_iso: string
  last_delivery_at: string | null
  last_delivery_at_iso: string | null
  last_message_id: number | null
  next_attempt_at: string | null
  next_attempt_at_iso: string | null
  gap_since: string | null
  gap_since_iso: string | null
  backlog: number | null
  old_secret_until: string | null
  old_secret_until_iso: string | null
}

export type Delivery = {
  message_id: number
  attempt: number
  status: number | null
  error: string | null
  ms: number
  attempted_at: string
  attempted_at_iso: string
}

export type DeliveryOutcome = { status: number | null; error: string | null; ms: number }

export type NewOwnDomain = {
  status: 'success'
  id: string
  domain: string
  unicode: string
  state: 'pending' | 'active' | 'suspended'
  reason: 'record_missing' | 'taken_over' | 'suspended_by_operator' | 'key_stopped' | 'key_expired' | 'not_checked' | 'restored' | null
  catch_all: boolean
  created_at: string
  created_at_iso: string
  verified_at: string | null
  verified_at_iso: string | null
  checked_at: string | null
  checked_at_iso: string | null
  missing_since: string | null
  missing_since_iso: string | null
  suspends_at: string | null
  suspends_at_iso: string | null
  taken: number
  refused: number
  records: { type: 'TXT' | 'MX'; name: string; value: string }[]
}

export type OwnDomain = {
  id: string
  domain: string
  unicode: string
  state: 'pending' | 'active' | 'suspended'
  reason: 'record_missing' | 'taken_over' | 'suspended_by_operator' | 'key_stopped' | 'key_expired' | 'not_checked' | 'restored' | null
  catch_all: boolean
  created_at: string
  created_at_iso: string
  verified_at: string | null
  verified_at_iso: string | null
  checked_at: string | null
  checked_at_iso: string | null
  missing_since: string | null
  missing_since_iso: string | null
  suspends_at: string | null
  suspends_at_iso: string | null
  taken: number
  refused: number
  records: { type: 'TXT' | 'MX'; name: string; value: string }[]
}

export type OwnDomains = {
  status: 'success'
  domains: OwnDomain[]
  limit: number
  warnings: DomainWarning[]
}

/** The successful response of each route. */
export interface ApiResponses {
  'GET /api/domains': Domains
  'POST /api/create-session': Session
  'GET /api/check-mail': MessageList
  'GET /api/read-mail': { status: 'success'; message: Message }
  'POST /api/delete-mail': { status: 'success'; message: string; deleted: number }
  'POST /api/extend-session': Session
  'POST /api/update-session': SessionSettings
  'GET /emails': EmailGroup[]
  'GET /emails/{id}': { status: 'success'; email: WholeEmail }
  'GET /sessions': KeySessions
  'POST /sessions/end': Confirmation
  'POST /sessions/roll-token': Session
  'GET /usage': Usage
  'POST /webhooks': { status: 'success'; webhook: NewWebhook }
  'GET /webhooks': { status: 'success'; webhooks: Webhook[] }
  'GET /webhooks/{id}': { status: 'success'; webhook: Webhook }
  'POST /webhooks/{id}': { status: 'success'; webhook: Webhook }
  'DELETE /webhooks/{id}': Confirmation
  'GET /webhooks/{id}/deliveries': { status: 'success'; deliveries: Delivery[] }
  'POST /webhooks/{id}/test': { status: 'success'; delivery: DeliveryOutcome }
  'POST /webhooks/{id}/replay': { status: 'success'; webhook: Webhook }
  'POST /webhooks/{id}/roll-secret': {
    status: 'success'
    secret: string
    old_secret_until: string
    old_secret_until_iso: string
  }
  'POST /webhooks/{id}/enable': { status: 'success'; webhook: Webhook }
  'POST /domains': NewOwnDomain
  'GET /domains': OwnDomains
  'GET /domains/{id}': { status: 'success'; domain: OwnDomain }
  'POST /domains/{id}': { status: 'success'; domain: OwnDomain }
  'DELETE /domains/{id}': Confirmation
  'POST /domains/{id}/verify': { status: 'success'; domain: OwnDomain }
}
