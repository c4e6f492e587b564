import { type Static, Type } from 'typebox'
import { isoStamp, stamp } from '../../core/time.ts'
import type { EmailRecord } from '../../service/mail/email-record.ts'
import { addressField, isoField, messageIdField, stampField } from './schemas.ts'

const recordSchema = Type.Object({
  id: messageIdField,
  from: Type.String({ examples: ['ann@sender.example'] }),
  to: Type.String({
    description: 'As the mail names the recipient, else the bare address.',
    examples: ['You <you@mayfly.example>'],
  }),
  subject: Type.String({ examples: ['Your code'] }),
  date: stampField,
  date_iso: isoField,
  body: Type.String({
    description: 'Plain text, made from HTML where only that came; at most 256 KB.',
    examples: ['Your code is 123456.'],
  }),
  truncated: Type.Optional(Type.Literal(true, { description: 'There when the body was cut.' })),
})

export const emailsSchema = Type.Array(
  Type.Object({
    address: Type.Optional(addressField),
    emails: Type.Array(recordSchema),
  }),
)

type Emails = Static<typeof emailsSchema>

/** So that `[0].emails` is always there. */
export const NO_EMAILS: Emails = [{ emails: [] }]

/** One element for each recipient, in the order in which they appear first. */
export function emailsJson(records: readonly EmailRecord[]): Emails {
  if (records.length === 0) return NO_EMAILS
  return [...Map.groupBy(records, ({ recipient }) => recipient)].map(([address, mine]) => ({
    address,
    emails: mine.map(recordJson),
  }))
}

function recordJson(record: EmailRecord): Static<typeof recordSchema> {
  const { id, from, to, subject, receivedAt, body, truncated } = record
  return {
    id,
    from,
    to,
    subject,
    date: stamp(receivedAt),
    date_iso: isoStamp(receivedAt),
    body,
    ...(truncated ? { truncated } : {}),
  }
}
