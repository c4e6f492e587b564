import type { Order } from '../site/shapes.ts'
import { say, type Words } from '../site/words.ts'

const STATES: Record<string, keyof Words> = {
  open: 'shop_state_open',
  pending: 'shop_state_pending',
  paid: 'shop_state_paid',
  failed: 'shop_state_failed',
  expired: 'shop_state_expired',
  refunded: 'shop_state_refunded',
  disputed: 'shop_state_disputed',
}

export function stateWords({ state }: Order): string {
  const name = STATES[state]
  return name ? say(name) : state
}

const NEXT: Record<string, keyof Words> = {
  pending: 'shop_next_pending',
  failed: 'shop_next_failed',
  expired: 'shop_next_expired',
  refunded: 'shop_next_refunded',
  disputed: 'shop_next_disputed',
}

/** What the buyer can do, or wait for. What is rare comes in the API's own words: a key revoked, a site in test mode. */
export function nextWords({ state, url, claimable, claimed_at: claimedAt, next }: Order): string {
  if (claimable) return say(claimedAt === null ? 'shop_next_paid' : 'shop_next_claimed')
  if (state === 'open' && url !== null) return say('shop_next_open')
  const name = NEXT[state]
  return name ? say(name) : next
}

export function toneOf({ state }: Order): 'good' | 'bad' | '' {
  if (state === 'paid') return 'good'
  return state === 'open' || state === 'pending' ? '' : 'bad'
}
