import { hash, timingSafeEqual } from 'node:crypto'
import { bearerOf } from './bearer.ts'
import type { Call } from './route.ts'

/** True when the caller is the operator, or when nobody set a token to tell. */
export function isOperatorCall(adminToken: string, { headers }: Call): boolean {
  if (adminToken === '') return true
  const given = bearerOf(headers.authorization) ?? ''
  // Hashes have one length, and comparing them tells nothing of what was right.
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', adminToken, 'buffer'))
}
