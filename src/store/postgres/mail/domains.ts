import type { Host, MailDomain } from '../../../core/address.ts'
import { type DomainRow, domainOf } from '../../rows.ts'
import type { DomainChange, NewDomain } from '../../store.ts'
import type { Connections, Db } from '../connection/connections.ts'

const DOMAIN_COLUMNS = 'id, name, active, removed, sessions, reader, ttl_seconds'

export function domainReads(db: Db) {
  return {
    async listDomains(): Promise<MailDomain[]> {
      const rows = await db.query<DomainRow>(
        `select ${DOMAIN_COLUMNS} from mail.mail_domain order by id`,
      )
      return rows.map(domainOf)
    },
    async findDomain(name: Host): Promise<MailDomain | undefined> {
      const [row] = await db.query<DomainRow>(
        `select ${DOMAIN_COLUMNS} from mail.mail_domain where name = $1`,
        [name],
      )
      return row && domainOf(row)
    },
  }
}

export function domainWrites(connections: Connections) {
  const { findDomain } = domainReads(connections)

  return {
    async addDomain(domain: NewDomain): Promise<MailDomain | undefined> {
      const { name, sessions, reader, ttlSeconds = null } = domain
      // Checked first: a conflicting insert would use up an id at every start of every node.
      const known = await findDomain(name)
      if (known && !known.removed) return undefined
      const [row] = await connections.query<DomainRow>(
        `insert into mail.mail_domain as known (name, sessions, reader, ttl_seconds)
         values ($1, $2, $3, $4)
         on conflict (name) do update set removed = false, active = true,
           sessions = excluded.sessions, reader = excluded.reader, ttl_seconds = excluded.ttl_seconds
         where known.removed
         returning ${DOMAIN_COLUMNS}`,
        [name, sessions, reader, ttlSeconds],
      )
      return row && domainOf(row)
    },

    async changeDomain(name: Host, change: DomainChange): Promise<MailDomain | undefined> {
      const { active = null, removed = null, sessions = null, reader = null } = change
      const [row] = await connections.query<DomainRow>(
        `update mail.mail_domain set active = coalesce($2, active), removed = coalesce($3, removed),
           sessions = coalesce($4, sessions), reader = coalesce($5, reader)
         where name = $1 returning ${DOMAIN_COLUMNS}`,
        [name, active, removed, sessions, reader],
      )
      return row && domainOf(row)
    },
  }
}
