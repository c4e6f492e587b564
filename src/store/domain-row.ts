import type { Host } from '../core/address.ts'
import type { MailDomain } from '../core/mail-domain.ts'

/** A mail domain as each engine keeps it. */
export interface DomainRow {
  id: number
  name: Host
  active: boolean | number
  removed: boolean | number
  sessions: boolean | number
  reader: boolean | number
  ttl_seconds: number | null
}

export function domainOf(row: DomainRow): MailDomain {
  return {
    id: row.id,
    name: row.name,
    active: Boolean(row.active),
    removed: Boolean(row.removed),
    sessions: Boolean(row.sessions),
    reader: Boolean(row.reader),
    ttlSeconds: row.ttl_seconds ?? undefined,
  }
}
