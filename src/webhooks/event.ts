import type { Static } from 'typebox'
import { openLru } from '../base/lru.ts'
import { isoTimestamp, timestampFields } from '../base/time.ts'
import { toHeader } from '../keys/emails/email-record.ts'
import type { ReadParsed } from '../mail/read/parsed-mail.ts'
import { type Message, scanResult } from '../mail/rules/message.ts'
import type { Mail } from '../shared/mail.ts'
import type { eventData } from './schemas.ts'

/** The types of events, and what each is about. */
interface Subjects {
  'message.received': { message: Message; mail: Mail }
  'webhook.test': { webhookId: string }
}

type EventData<Type extends keyof Subjects> = Static<(typeof eventData)[Type]>

const DATA: { [Type in keyof Subjects]: (subject: Subjects[Type]) => EventData<Type> } = {
  'message.received': messageData,
  'webhook.test': ({ webhookId }) => ({ webhook_id: webhookId }),
}

/** The body of a delivery. */
export function eventBody<Type extends keyof Subjects>(
  type: Type,
  timestamp: Date,
  subject: Subjects[Type],
): string {
  return JSON.stringify({ type, timestamp: isoTimestamp(timestamp), data: DATA[type](subject) })
}

const MAX_BYTES = 20_000
// Type and timestamp.
const ENVELOPE_BYTES = 100
const MAX_TO_LENGTH = 1_000

/** The same for every attempt. Links that would make it too long are left out. */
function messageData({
  message,
  mail,
}: Subjects['message.received']): EventData<'message.received'> {
  const to = toHeader(message.recipient, mail)
  const data = {
    id: message.id,
    address: message.recipient,
    from: message.senderEmail,
    to: to.length > MAX_TO_LENGTH ? message.recipient : to,
    subject: message.subject,
    ...timestampFields('date', message.receivedAt),
    code: mail.codes[0]?.value ?? null,
    size: message.size,
    attachments: scanResult(mail).attachments,
  }
  const rest = JSON.stringify({ ...data, links: [], links_truncated: true })
  let room = MAX_BYTES - Buffer.byteLength(rest) - ENVELOPE_BYTES
  const links = mail.links
    .map(({ url, text, host, kind }) => ({ url, text, host, kind }))
    .filter((link) => {
      const left = room - Buffer.byteLength(JSON.stringify(link)) - 1
      if (left < 0) return false
      room = left
      return true
    })
  return { ...data, links, ...(links.length < mail.links.length ? { links_truncated: true } : {}) }
}

/** The body of a delivery to a webhook of this key; undefined if the mail was deleted. */
export type ReadEvent = (message: Message, keyId: string) => Promise<string | undefined>

const MAX_CACHED_LENGTH = 8_000_000

/**
 * Parses the mail without storing the result: that would be a write to the store of mail for each. All webhooks of the pool, and
 * retries, share a body while it is recent.
 */
export function openEvents(parsed: ReadParsed): ReadEvent {
  const recent = openLru<string, string>(MAX_CACHED_LENGTH, { sizeOf: ({ length }) => length })
  const building = new Map<string, Promise<string | undefined>>()

  async function build(name: string, message: Message, keyId: string) {
    const { rawId, recipient: mailbox, size, receivedAt } = message
    const request = { client: `key ${keyId}`, mailbox, size, transient: true }
    const mail = await parsed(rawId, request)
    const body = mail && eventBody('message.received', receivedAt, { message, mail })
    if (body !== undefined) recent.set(name, body)
    return body
  }

  return async (message, keyId) => {
    const name = `${message.id} ${message.recipient}`
    const known = recent.get(name) ?? building.get(name)
    if (known !== undefined) return await known
    const body = build(name, message, keyId).finally(() => building.delete(name))
    building.set(name, body)
    return await body
  }
}
