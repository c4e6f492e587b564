import type { MailboxId } from '../core/session.ts'
import type { KeyScope } from './store.ts'

/** Of all that a key may see. */
export interface KeyVersionRow {
  pool: number
  own: number | null
  /** Null while no session of the key is live. A session that ends by the clock changes what is seen without any write. */
  soonest: number | null
}

/** Of one key or of two: where the marks are equal, so is the mail. */
export function keyVersion({ keyId, pool }: KeyScope, row: KeyVersionRow | undefined): string {
  if (!row) throw new Error('a mark was asked for and not answered')
  const shared = pool ? `p${base36(row.pool)}` : ''
  if (row.soonest === null) return shared
  return `${shared}k${keyId}.${base36(row.own ?? 0)}.${base36(row.soonest)}`
}

/**
 * Of what a key may see at one address: its mail in the pool, and the key's session there. New mail has a higher id than all
 * before it. So with the newest still there and the count unchanged, nothing came or went.
 */
export interface AddressVersionRow {
  count: number | null
  newest: number | null
  mailbox: MailboxId | null
  version: number | null
}

export function addressVersion({ pool }: KeyScope, row: AddressVersionRow | undefined): string {
  if (!row) throw new Error('a mark was asked for and not answered')
  const { count, newest, mailbox, version } = row
  const shared = pool && newest !== null ? `a${base36(newest)}.${base36(count ?? 0)}` : ''
  return mailbox === null ? shared : `${shared}s${base36(mailbox)}.${base36(version ?? 0)}`
}

function base36(value: number): string {
  return value.toString(36)
}
