import { hash } from 'node:crypto'

// 1,024 ids a millisecond: below 2^53 until the year 2248.
const IDS_PER_MS = 1024
const STEP = 64

/**
 * An id above `last`, near the clock. Drawn inside the commit, so commit order is id order, also when the clock steps back;
 * the random part keeps ids from telling how many others exist. After a restore the clock is ahead of every lost id.
 */
export function nextId(last: number, now: Date, random: number): number {
  const { step, least } = idBounds(now, random)
  return Math.max(last + step, least)
}

/** The same for a store that knows the last one: the next is at least so far above it, and at least so large. */
export function idBounds(now: Date, random: number): { step: number; least: number } {
  return {
    step: 1 + Math.floor(random * STEP),
    least: now.getTime() * IDS_PER_MS + Math.floor(random * IDS_PER_MS),
  }
}

/** How tokens and keys are kept. The characters are hashed, not the bytes they encode: one token has one spelling. */
export function secretHash(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** 256 random bits as base64url: safe to paste into a URL raw. */
export function makeSecretToken(random: Uint8Array): string {
  return Buffer.from(random).toString('base64url')
}
