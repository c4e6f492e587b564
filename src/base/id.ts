import { hash } from 'node:crypto'

// 1,024 ids a millisecond: below 2^53 until the year 2248.
const IDS_PER_MS = 1024
const STEP = 64

/**
 * An id above `last`, near the current time. Drawn inside the commit, so ids rise in commit order even when the clock steps
 * back; the random part hides how many others exist. After a restore, the clock is ahead of every lost id.
 */
export function nextId(last: number, now: Date, random: number): number {
  const { step, least } = idBounds(now, random)
  return Math.max(last + step, least)
}

/** The same for a store that knows the last id: the next one is at least `last + step` and at least `least`. */
export function idBounds(now: Date, random: number): { step: number; least: number } {
  return {
    step: 1 + Math.floor(random * STEP),
    least: idAt(now) + 1 + Math.floor(random * (IDS_PER_MS - 1)),
  }
}

/** Below every id that is drawn at this time or later. */
export function idAt(time: Date): number {
  return time.getTime() * IDS_PER_MS
}

/** When this id was drawn, or a little later if many were. */
export function timeOfId(id: number): Date {
  return new Date(Math.floor(id / IDS_PER_MS))
}

/** How tokens and keys are stored. Hashes the characters, not the bytes they encode, so a token has one spelling. */
export function secretHash(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** Base64url, so it needs no escaping in a URL. */
export function makeSecretToken(random: Uint8Array): string {
  return Buffer.from(random).toString('base64url')
}

/** Shortest admin token. */
export const MIN_TOKEN_LENGTH = 20
