import type { RawMail } from '../../../mail/rules/message.ts'
import type { SenderChecks } from '../../../shared/mail.ts'
import { checksOf, parsedJsonOf, type RawRow, rawMailOf } from '../../rows.ts'
import type { Db } from '../files.ts'

export function rawMailReads(db: Db) {
  const raw = db.prepare<[number], RawRow>(
    'select * from raw_mail join raw_bytes on raw_id = id where id = ?',
  )
  const parsed = db
    .prepare<[number], Uint8Array>('select zstd from parsed_mail where raw_id = ?')
    .pluck()
  const checks = db
    .prepare<[number], string | null>('select auth from raw_mail where id = ?')
    .pluck()

  return {
    async readRaw(rawId: number): Promise<RawMail | undefined> {
      const row = raw.get(rawId)
      return row && (await rawMailOf(row))
    },
    readParsedJson: (rawId: number) => parsedJsonOf(parsed.get(rawId)),
    readSenderChecks: (rawId: number): SenderChecks | undefined => checksOf(checks.get(rawId)),
  }
}

export function rawMailWrites(db: Db) {
  const exists = db.prepare<[number], number>('select 1 from raw_mail where id = ?').pluck()
  const insertParsed = db.prepare('insert or replace into parsed_mail (raw_id, zstd) values (?, ?)')
  const updateChecks = db.prepare('update raw_mail set auth = ? where id = ?')

  return {
    /** Already compressed, by the thread that parsed it. */
    saveParsed(rawId: number, zstd: Uint8Array): void {
      if (exists.get(rawId) !== undefined) insertParsed.run(rawId, zstd)
    },
    saveSenderChecks(rawId: number, checks: SenderChecks): void {
      updateChecks.run(JSON.stringify(checks), rawId)
    },
  }
}
