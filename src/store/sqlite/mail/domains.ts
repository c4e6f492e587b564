import type { Host, MailDomain } from '../../../core/address.ts'
import { type DomainRow, domainOf } from '../../rows.ts'
import type { DomainChange, NewDomain } from '../../store.ts'
import type { Db } from '../files.ts'

export function domainReads(db: Db) {
  const list = db.prepare<[], DomainRow>('select * from mail_domain order by id')
  const byName = db.prepare<[string], DomainRow>('select * from mail_domain where name = ?')

  return {
    listDomains: (): MailDomain[] => list.all().map(domainOf),
    findDomain(name: Host): MailDomain | undefined {
      const row = byName.get(name)
      return row && domainOf(row)
    },
  }
}

export function domainWrites(db: Db) {
  const { findDomain } = domainReads(db)
  const insert = db.prepare(
    'insert into mail_domain (name, sessions, reader, ttl_seconds) values (?, ?, ?, ?)',
  )
  const restore = db.prepare(
    'update mail_domain set removed = 0, active = 1, sessions = ?, reader = ?, ttl_seconds = ? where name = ?',
  )
  const update = db.prepare(
    'update mail_domain set active = ?, removed = ?, sessions = ?, reader = ? where id = ?',
  )

  return {
    addDomain({ name, sessions, reader, ttlSeconds }: NewDomain): MailDomain | undefined {
      const known = findDomain(name)
      if (known && !known.removed) return undefined
      const values = [Number(sessions), Number(reader), ttlSeconds ?? null]
      if (known) restore.run(...values, name)
      else insert.run(name, ...values)
      return findDomain(name)
    },

    changeDomain(name: Host, wanted: DomainChange): MailDomain | undefined {
      const known = findDomain(name)
      if (!known) return undefined
      const next = { ...known, ...wanted }
      const flags = [next.active, next.removed, next.sessions, next.reader].map(Number)
      update.run(...flags, known.id)
      return next
    },
  }
}
