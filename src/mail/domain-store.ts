import { type DomainName, isWildcard, type MailDomain, withoutWildcard } from '../base/address.ts'
import { type Operation, query, type Value } from '../base/operation.ts'
import type { DomainChange, NewDomain } from './store.ts'

export const domainReads = {
  /** All domains of the operator, including removed ones, by id. */
  listDomains: (): Operation<MailDomain[]> =>
    domains(`select ${DOMAIN_COLUMNS} from mail.mail_domain where owner is null order by id`),
  *findDomain(name: DomainName): Operation<MailDomain | undefined> {
    const select = `select ${DOMAIN_COLUMNS} from mail.mail_domain where name = $1`
    return (yield* domains(select, [name]))[0]
  },
}

export const domainWrites = {
  /** Adds a domain, or restores a removed one under its old id. Undefined if it exists. */
  *addDomain({ name, sessions, reader, ttlSeconds }: NewDomain): Operation<MailDomain | undefined> {
    // Checked first: a conflicting insert would use up an id at every start of every node.
    const known = yield* domainReads.findDomain(name)
    if (known && !known.removed) return undefined
    const added = known
      ? `update mail.mail_domain set removed = false, active = true, sessions = $2, reader = $3,
           ttl_seconds = $4
         where name = $1 and removed returning ${DOMAIN_COLUMNS}`
      : `insert into mail.mail_domain (name, sessions, reader, ttl_seconds) values ($1, $2, $3, $4)
         on conflict do nothing returning ${DOMAIN_COLUMNS}`
    return (yield* domains(added, [name, sessions, reader, ttlSeconds]))[0]
  },

  *changeDomain(name: DomainName, change: DomainChange): Operation<MailDomain | undefined> {
    const changed = yield* domains(
      `update mail.mail_domain set active = coalesce($2, active), removed = coalesce($3, removed),
         sessions = coalesce($4, sessions), reader = coalesce($5, reader),
         ttl_seconds = case when $6 then $7 else ttl_seconds end
       where name = $1 and owner is null returning ${DOMAIN_COLUMNS}`,
      [
        name,
        change.active,
        change.removed,
        change.sessions,
        change.reader,
        change.ttlSeconds !== undefined,
        change.ttlSeconds,
      ],
    )
    return changed[0]
  },
}

function* domains(text: string, values: Value[] = []): Operation<MailDomain[]> {
  return (yield* query<DomainRow>(text, values)).map(domainOf)
}

export interface DomainRow {
  id: number
  name: DomainName
  active: boolean | number
  removed: boolean | number
  sessions: boolean | number
  reader: boolean | number
  ttl_seconds: number | null
  owner: string | null
}

export const DOMAIN_COLUMNS = 'id, name, active, removed, sessions, reader, ttl_seconds, owner'

export function domainOf(row: DomainRow): MailDomain {
  return {
    id: row.id,
    name: withoutWildcard(row.name),
    wildcard: isWildcard(row.name),
    active: Boolean(row.active),
    removed: Boolean(row.removed),
    sessions: Boolean(row.sessions),
    reader: Boolean(row.reader),
    ttlSeconds: row.ttl_seconds ?? undefined,
    ...(row.owner !== null && { owner: row.owner }),
  }
}
