import type { Link } from './api.ts'
import { MayflyError } from './request.ts'

/** The data of each type of event. */
interface WebhookData {
  'message.received': {
    id: number
    address: string
    from: string
    to: string
    subject: string
    date: string
    date_iso: string
    code: string | null
    links: Link[]
    /** Some links were left out, because the event would be too long. */
    links_truncated?: true
    size: number
    attachments: number
  }
  'webhook.test': { webhook_id: string }
}

/** The body of a webhook. */
export type WebhookEvent = {
  [Type in keyof WebhookData]: { type: Type; timestamp: string; data: WebhookData[Type] }
}[keyof WebhookData]

export interface WebhookRequest {
  /** The body as received, before any JSON parser. */
  body: string | Uint8Array<ArrayBuffer>
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** `whsec_…`, as shown when the webhook was created or its secret rolled. */
  secret: string
}

const MAX_AGE_SECONDS = 300

/** Returns the event if the signature is valid and recent (Standard Webhooks); otherwise throws `invalid_signature`. */
export async function verifyWebhook({
  body,
  headers,
  secret,
}: WebhookRequest): Promise<WebhookEvent> {
  const header = (name: string) => {
    const all: Iterable<[string, unknown]> =
      headers instanceof Headers ? headers : Object.entries(headers)
    for (const [given, value] of all) if (given.toLowerCase() === name) return String(value)
    return ''
  }
  const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')]
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  // Also refuses NaN.
  if (!(Math.abs(Date.now() / 1_000 - seconds) <= MAX_AGE_SECONDS)) {
    throw invalid('webhook-timestamp is missing or too far from now')
  }
  const text =
    typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
  const secretBytes = fromBase64(secret.replace(/^whsec_/, ''))
  if (!secretBytes?.length) throw invalid('the secret is not base64')
  const key = await crypto.subtle.importKey(
    'raw',
    secretBytes,
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  )
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`)
  // While a secret is rolled there are two.
  for (const signature of header('webhook-signature').split(' ')) {
    const [version, value = ''] = signature.split(',')
    const bytes = version === 'v1' ? fromBase64(value) : undefined
    if (bytes && (await crypto.subtle.verify('HMAC', key, bytes, signed))) return JSON.parse(text)
  }
  throw invalid('no signature matches the secret')
}

function invalid(message: string): MayflyError {
  return new MayflyError(`Invalid webhook: ${message}`, { code: 'invalid_signature' })
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
