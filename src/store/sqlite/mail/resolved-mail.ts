import type { ReceiveLimits } from '../../../mail/rules/recipient.ts'
import type { NewMail } from '../../../mail/store.ts'
import { compressMail } from '../../compression.ts'
import { type ResolveMail, resolvedMail } from '../../operations.ts'
import type { Store } from '../../store.ts'
import type { Db } from '../files.ts'
import type { WritesOf } from '../group-commit.ts'
import { operationRunner } from '../operations.ts'
import type { InsertMail } from './add-mail.ts'

type ResolvedWrites = WritesOf<Store, keyof typeof resolvedMail>

/** Stores mail for those whom an operation decides on. */
export function resolvedWrites(
  db: Db,
  limits: ReceiveLimits,
  insertMail: InsertMail,
): ResolvedWrites {
  const run = operationRunner(db)
  const operations: Record<string, ResolveMail> = resolvedMail
  const writes = Object.entries(operations).map(([name, resolve]) => [
    name,
    (mail: NewMail) => {
      const result = run(resolve(mail as never, limits))
      if (result.recipients) {
        const compressed = { size: mail.raw.length, zstd: compressMail(mail) }
        insertMail({ ...mail, ...compressed }, result.recipients)
      }
      return result
    },
  ])
  return Object.fromEntries(writes)
}
