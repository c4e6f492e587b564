import type { MailboxId } from '../core/session.ts'
import type { ReaderScope } from './store.ts'

/** Of all that a key may see. */
export interface Mark {
  pool: number
  own: number | null
  /** Null while no session of the key is live. A session that ends by the clock changes what is seen without any write. */
  soonest: number | null
}

/** Of one key or of two: where the marks are equal, so is the mail. */
export function markText({ keyId, pool }: ReaderScope, row: Mark | undefined): string {
  if (!row) throw new Error('a mark was asked for and not answered')
  const shared = pool ? `p${short(row.pool)}` : ''
  if (row.soonest === null) return shared
  return `${shared}k${keyId}.${short(row.own ?? 0)}.${short(row.soonest)}`
}

/**
 * Of what a key may see at one address: its mail in the pool, and the key's session there. New mail has a higher id than all
 * before it. So with the newest still there and the count unchanged, nothing came or went.
 */
export interface AddressMark {
  count: number | null
  newest: number | null
  mailbox: MailboxId | null
  version: number | null
}

export function addressMarkText({ pool }: ReaderScope, row: AddressMark | undefined): string {
  if (!row) throw new Error('a mark was asked for and not answered')
  const { count, newest, mailbox, version } = row
  const shared = pool && newest !== null ? `a${short(newest)}.${short(count ?? 0)}` : ''
  return mailbox === null ? shared : `${shared}s${short(mailbox)}.${short(version ?? 0)}`
}

function short(value: number): string {
  return value.toString(36)
}
