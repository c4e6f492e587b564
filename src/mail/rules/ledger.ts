import { createHmac } from 'node:crypto'
import type { Address, MailDomain } from '../../base/address.ts'
import { secretHash } from '../../base/id.ts'
import { utcTimestamp } from '../../base/time.ts'
import { type LifetimeLimits, maxLifetimeSeconds } from './session.ts'

// The ledger of addresses: every address that ever belonged to a session, so that none of them gets into the pool. It keeps HMACs
// under a key derived from the installation's secret, which is in the shop: without it, nobody can look up a guessed address.

/** Derived from the installation's secret. */
export function ledgerKey(installation: Uint8Array): Uint8Array {
  return createHmac('sha256', installation)
    .update(JSON.stringify(['ledger']))
    .digest()
}

// RFC 2104, section 5: at least half of the hash.
const HMAC_BYTES = 16
/** The length of an entry; the hashes of versions up to 0.3 had 43 characters. */
export const HMAC_LENGTH = 22

export type LedgerHmac = ReturnType<typeof openLedgerHmac>

export function openLedgerHmac(key: Uint8Array) {
  const hmac = (text: string) =>
    createHmac('sha256', key).update(text).digest().subarray(0, HMAC_BYTES).toString('base64url')
  return {
    /** The entry of an address. */
    of: (address: Address): string => hmac(secretHash(address)),
    /** The entry that replaces a hash of versions up to 0.3. */
    ofHash: hmac,
    /** An entry of every ledger: where it is missing, the others were made with another key. */
    check: hmac('check'),
  }
}

/** Why addresses may be missing. `lost`: there was no ledger, or it was restored, and sessions created since the backup are missing. */
export type LedgerReason = 'lost' | 'secret' | 'pool' | 'operator'

export interface LedgerState {
  /** Addresses may have belonged to sessions that the ledger lacks, until a sweep at this time. Undefined: it is complete. */
  unknownUntil: Date | undefined
  reason: LedgerReason | ''
  /** Entries are deleted, because the pool is off. */
  pruned: boolean
}

/** How long an unknown address may still belong to somebody, or be in its cool-down: the longest lifetime plus the cool-down. */
export interface LedgerLimits {
  lifetimes: LifetimeLimits
  cooldownMs: number
}

export function knownAgainAt(
  now: Date,
  { lifetimes, cooldownMs }: LedgerLimits,
  domains: readonly MailDomain[],
): Date {
  const longest = [undefined, ...domains].map((domain) =>
    maxLifetimeSeconds(domain, lifetimes, true),
  )
  return new Date(now.getTime() + Math.max(...longest) * 1000 + cooldownMs)
}

const REASONS: Record<LedgerReason, string> = {
  lost: 'it was lost, or restored from a backup',
  secret: 'it was made with another secret: shop.db was replaced',
  pool: 'its entries were deleted while the pool was off',
  operator: 'the operator said so',
}

/** For the operator; undefined if the ledger is complete. */
export function ledgerWarning({ unknownUntil, reason }: LedgerState): string | undefined {
  if (!unknownUntil) return undefined
  const why = reason === '' ? '' : ` (${REASONS[reason]})`
  return `the ledger of addresses is incomplete${why}: until ${utcTimestamp(unknownUntil)} UTC, mail for addresses without a session is refused, and new addresses are random`
}
