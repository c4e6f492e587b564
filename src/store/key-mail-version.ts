import type { MailboxId } from '../mail/rules/session.ts'
import type { KeyScope } from '../mail/store.ts'

export interface KeyVersionRow {
  pool: number
  own: number | null
  /** The next expiry, null if no session of the key is live: a session that expires changes the mail without a write. */
  soonest: number | null
}

/** The version of all mail that a key may see. Equal versions mean equal mail, even of different keys. */
export function keyVersion({ keyId, pool }: KeyScope, row: KeyVersionRow | undefined): string {
  if (!row) throw new Error('the version query returned no row')
  const shared = pool ? `p${base36(row.pool)}` : ''
  if (row.soonest === null) return shared
  return `${shared}k${keyId}.${base36(row.own ?? 0)}.${base36(row.soonest)}`
}

/**
 * What a key may see of one address: its mail in the pool, and the key's session of that address. New mail has a higher id than
 * all mail before it, so with the same newest id and the same count nothing has changed.
 */
export interface AddressVersionRow {
  count: number | null
  newest: number | null
  mailbox: MailboxId | null
  version: number | null
}

export function addressVersion({ pool }: KeyScope, row: AddressVersionRow | undefined): string {
  if (!row) throw new Error('the version query returned no row')
  const { count, newest, mailbox, version } = row
  const shared = pool && newest !== null ? `a${base36(newest)}.${base36(count ?? 0)}` : ''
  return mailbox === null ? shared : `${shared}s${base36(mailbox)}.${base36(version ?? 0)}`
}

function base36(value: number): string {
  return value.toString(36)
}
