import type { Address } from '../core/address.ts'
import { isCooling, isLive, type MailboxId, type Session } from '../core/session.ts'
import type { NewSession, Revival } from './store.ts'

/** A session as each engine keeps it. */
export interface SessionRow {
  id: MailboxId
  address: Address | null
  token_hash: string | null
  key_id: string | null
  account_id: number | null
  created_at: number
  expires_at: number
  version: number
  /** How many codes were noted, see noteCode. */
  codes: number
  last_id: number
  count: number
  bytes: number
  cleared: boolean | number
}

export function sessionOf(row: SessionRow): Session {
  return {
    id: row.id,
    // Found by token or just made: such a row has its address.
    address: row.address as Address,
    keyId: row.key_id ?? undefined,
    accountId: row.account_id ?? undefined,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    // All of them only rise, so no two states have the same sum. The last id is near the clock: also when a store forgets
    // its last moments, as a replica that took over, what it counts anew is not taken for what was there before.
    version: row.version + row.codes + row.last_id,
    lastId: row.last_id,
    count: row.count,
    bytes: row.bytes,
  }
}

/** Not one that was swept: the clock stood beyond its end when the sweep came by, and its mail is gone. */
export function isExtendable(row: SessionRow, now: Date): boolean {
  return row.token_hash !== null && !row.cleared && isLive(spanOf(row), now)
}

/** Whether nobody else may have the address yet. */
export function isTaken(row: SessionRow, now: Date, cooldownMs: number): boolean {
  return isCooling(spanOf(row), now, cooldownMs)
}

/** What a cooling session becomes when its owner has it back; undefined when it lives, or is over for good. */
export function revived(
  row: SessionRow,
  { now, expiresAt, cooldownMs }: Revival,
): Omit<NewSession, 'cooldownMs'> | undefined {
  const { address, token_hash: tokenHash } = row
  if (!address || !tokenHash) return undefined
  if (isLive(spanOf(row), now) || !isTaken(row, now, cooldownMs)) return undefined
  const { keyId, accountId } = sessionOf(row)
  return { address, tokenHash, keyId, accountId, createdAt: now, expiresAt }
}

function spanOf(row: SessionRow): { expiresAt: Date } {
  return { expiresAt: new Date(row.expires_at) }
}
