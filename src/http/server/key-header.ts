import type { IncomingHttpHeaders } from 'node:http'
import { bearerOf } from './bearer.ts'
import type { HeaderField } from './route.ts'

/** The header that every reader route asks for. */
export const KEY_FIELD: HeaderField = {
  name: 'APIKey',
  required: true,
  description: 'Your key. X-API-Key and Authorization: Bearer are understood too.',
}

/**
 * The key that a request gives, and nothing of its query: that ends up in logs. Node joins what is given twice with a
 * comma, and no key has one.
 */
export function keyOf(headers: IncomingHttpHeaders): string | undefined {
  return namedKey(headers) ?? bearerOf(headers.authorization)
}

/** The same where a Bearer may be a session's token too. */
export function keyBesideTokens(headers: IncomingHttpHeaders): string | undefined {
  const bearer = bearerOf(headers.authorization)
  return namedKey(headers) ?? (bearer?.startsWith('mf_') ? bearer : undefined)
}

function namedKey(headers: IncomingHttpHeaders): string | undefined {
  return textOf(headers['apikey']) ?? textOf(headers['x-api-key'])
}

function textOf(value: string | string[] | undefined): string | undefined {
  return value === undefined ? undefined : String(value)
}
