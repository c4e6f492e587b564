import { openLru } from '../base/lru.ts'
import { isoTimestamp, utcTimestamp } from '../base/time.ts'
import { toHeader } from '../keys/emails/email-record.ts'
import type { ReadParsed } from '../mail/read/parsed-mail.ts'
import { type Message, scanResult } from '../mail/rules/message.ts'
import type { Mail } from '../shared/mail.ts'

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

  async function build(message: Message, keyId: string): Promise<string | undefined> {
    const { rawId, recipient: mailbox, size } = message
    const request = { client: `key ${keyId}`, mailbox, size, transient: true }
    const mail = await parsed(rawId, request)
    return mail && messageEvent(message, mail)
  }

  async function buildOnce(name: string, message: Message, keyId: string) {
    const body = build(message, keyId).finally(() => building.delete(name))
    building.set(name, body)
    const built = await body
    if (built !== undefined) recent.set(name, built)
    return built
  }

  return async (message, keyId) => {
    const name = `${message.id} ${message.recipient}`
    return recent.get(name) ?? (await (building.get(name) ?? buildOnce(name, message, keyId)))
  }
}

const MAX_BYTES = 20_000
const MAX_TO_LENGTH = 1_000

/** The body of a delivery: the same for every attempt. Links that would make it too long are left out. */
export function messageEvent(message: Message, mail: Mail): string {
  const to = toHeader(message.recipient, mail)
  const data = {
    id: message.id,
    address: message.recipient,
    from: message.senderEmail,
    to: to.length > MAX_TO_LENGTH ? message.recipient : to,
    subject: message.subject,
    date: utcTimestamp(message.receivedAt),
    date_iso: isoTimestamp(message.receivedAt),
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
  return JSON.stringify({
    type: 'message.received',
    timestamp: isoTimestamp(message.receivedAt),
    data: {
      ...data,
      links,
      ...(links.length < mail.links.length ? { links_truncated: true } : {}),
    },
  })
}

// Of type and timestamp.
const ENVELOPE_BYTES = 100

export function testEvent(webhookId: string, now: Date): string {
  const data = { webhook_id: webhookId }
  return JSON.stringify({ type: 'webhook.test', timestamp: isoTimestamp(now), data })
}
