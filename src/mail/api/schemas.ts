import { type Static, Type } from 'typebox'
import { timestampFields } from '../../base/time.ts'
import { named, namedSuccess, nullable, timeFields } from '../../http/server/schemas.ts'
import { MAX_PATTERN, senderSyntax } from '../../shared/sender-pattern.ts'
import { MAX_SUBJECT_CHARACTERS, SEARCH_CHARACTERS } from '../rules/filter.ts'
import type { MessageSummary } from '../rules/message.ts'
import {
  isPermanent,
  LABEL,
  MAX_LIFETIME_SECONDS,
  MIN_LIFETIME_SECONDS,
  type Session,
} from '../rules/session.ts'

// Schemas shared by several endpoints, and the functions that build their values.

export const MAX_ID = Number.MAX_SAFE_INTEGER

export const tokenField = Type.String({
  description: 'The session token. It may also be sent as Authorization: Bearer.',
})

export const idField = Type.Integer({
  minimum: 0,
  maximum: MAX_ID,
  description: 'A message id from check-mail.',
})

const TTL =
  'Lifetime in seconds from now. At most seven days from creation, or 30 days for sessions created with an APIKey, unless the operator has set other limits.'
const ttl = { maximum: MAX_LIFETIME_SECONDS }

export const ttlField = Type.Optional(
  Type.Integer({ ...ttl, minimum: MIN_LIFETIME_SECONDS, description: TTL }),
)

/** Of a new session. */
export const newTtlField = Type.Optional(
  Type.Integer({
    ...ttl,
    minimum: 0,
    description: `${TTL} 0, at a domain that the APIKey holds: the session does not expire; each message is deleted by its own age.`,
  }),
)

export const sinceIdField = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: MAX_ID,
    description: 'Only messages newer than this id.',
  }),
)

export const DEFAULT_LIMIT = 100

export const limitField = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 500,
    description: 'Maximum number of messages; default 100.',
  }),
)

export const waitField = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 55,
    description: 'Seconds to wait for mail newer than since_id if there is none yet.',
  }),
)

/** Conditions on a message; all must be met. */
export const senderFilterFields = {
  from: Type.Optional(
    Type.String({
      maxLength: MAX_PATTERN,
      pattern: `^\\s*${senderSyntax()}\\s*$`,
      description: 'Only from this address, or from this domain and its subdomains.',
    }),
  ),
  subject: Type.Optional(
    Type.String({
      maxLength: MAX_SUBJECT_CHARACTERS,
      description: 'Only with this text in the subject, ignoring case; at most 200 characters.',
    }),
  ),
}

export const filterFields = {
  ...senderFilterFields,
  has_code: Type.Optional(
    Type.Boolean({ description: 'Only messages with a code, once they are parsed.' }),
  ),
  has_link: Type.Optional(
    Type.Boolean({
      description:
        'Only messages with a link to verify an address, sign in or reset a password, once they are parsed.',
    }),
  ),
}

export const labelField = Type.Optional(
  Type.String({
    pattern: LABEL.source,
    description: 'A name for the mailbox, at most 60 characters; see check-mail.',
  }),
)

export const searchField = Type.Optional(
  Type.String({
    minLength: SEARCH_CHARACTERS.min,
    maxLength: SEARCH_CHARACTERS.max,
    description:
      'Only messages with this text in the sender, the subject or the first 100,000 characters of the text or of what the HTML displays, ignoring case; 2 to 100 characters. Cannot be combined with wait. At most 60 searches a minute.',
  }),
)

export const addressField = Type.String({ examples: ['tovuna.lemisa472@mayfly.example'] })

export const messageIdField = Type.Integer({ examples: [1_836_000_000_000_000] })

export const summaryFields = {
  id: messageIdField,
  sender_name: Type.String({ examples: ['Ann'] }),
  sender_email: Type.String({ examples: ['ann@sender.example'] }),
  subject: Type.String({ examples: ['Your code'] }),
  ...timeFields('received_at'),
  code: nullable(
    Type.String({ examples: ['123456'] }),
    'The most likely code in the mail. Null: none found, or not extracted yet.',
  ),
}

const summarySchema = Type.Object(summaryFields)

/** In lists and events. */
const listedSchema = named('MessageSummary', {
  ...summaryFields,
  preview: nullable(
    Type.String({ examples: ['Your code is 123456.'] }),
    'The first 120 characters of the text. Null: not parsed yet.',
  ),
  attachments: nullable(
    Type.Integer({ examples: [0] }),
    'The number of attachments, not counting images that the HTML displays. Null: not parsed yet.',
  ),
})

const expiryFields = {
  ...timeFields('expires_at'),
  permanent: Type.Optional(
    Type.Literal(true, {
      description: 'If the session does not expire: see ttl of create-session.',
    }),
  ),
}

export const mailboxFields = { email: addressField, ...expiryFields }

export const rulesSchema = Type.Optional(
  named(
    'AddressRules',
    {
      only_from: Type.Array(Type.String({ examples: ['shop.example'] })),
      max_messages: nullable(Type.Integer({ examples: [1] }), 'Null: no limit.'),
      refused: Type.Integer({
        description: 'How many mails they have refused, not counting those in a Gmail account.',
        examples: [0],
      }),
    },
    { description: 'What the address accepts, if it was created with rules.' },
  ),
)

export const settingsFields = {
  ...mailboxFields,
  rules: rulesSchema,
  label: Type.Optional(
    Type.String({ description: 'If the session has one.', examples: ['sign-up test'] }),
  ),
}

export const listingSchema = namedSuccess('MessageList', {
  ...settingsFields,
  full: Type.Optional(Type.Literal(true)),
  messages: Type.Array(listedSchema),
  timed_out: Type.Optional(Type.Literal(true)),
  incomplete: Type.Optional(
    Type.Literal(true, {
      description:
        'With q: some messages are not parsed yet (search again), or have more than 100,000 characters of text, of which only the first 100,000 are searched.',
    }),
  ),
})

export type Listing = Static<typeof listingSchema>

export const sessionSchema = namedSuccess('Session', {
  email: addressField,
  token: Type.String({ examples: ['43 characters, to be kept secret'] }),
  ...expiryFields,
})

export function summaryJson(message: MessageSummary): Static<typeof summarySchema> {
  return {
    id: message.id,
    sender_name: message.senderName,
    sender_email: message.senderEmail,
    subject: message.subject,
    ...timestampFields('received_at', message.receivedAt),
    code: message.code || null,
  }
}

export function listedJson(message: MessageSummary): Static<typeof listedSchema> {
  const { preview = null, attachments = null } = message
  return { ...summaryJson(message), preview, attachments }
}

export function mailboxJson(session: Session) {
  return {
    email: session.address,
    ...timestampFields('expires_at', session.expiresAt),
    ...(isPermanent(session) && { permanent: true as const }),
  }
}

export function rulesJson({
  rules: { onlyFrom, maxMessages },
  refused,
}: Pick<Session, 'rules' | 'refused'>): Pick<Listing, 'rules'> {
  if (onlyFrom.length === 0 && maxMessages === undefined) return {}
  return { rules: { only_from: [...onlyFrom], max_messages: maxMessages ?? null, refused } }
}

export function settingsJson(session: Session) {
  const { label } = session
  return {
    ...mailboxJson(session),
    ...rulesJson(session),
    ...(label === undefined ? {} : { label }),
  }
}

export function sessionJson(session: Session, token: string) {
  const { email, ...expiry } = mailboxJson(session)
  return { email, token, ...expiry }
}
