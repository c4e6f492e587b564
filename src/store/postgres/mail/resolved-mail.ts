import type { NewMail } from '../../../mail/store.ts'
import { compressMailAsync } from '../../compression.ts'
import { type ResolveMail, resolvedMail } from '../../operations.ts'
import type { Store } from '../../store.ts'
import type { Connections } from '../connection/connections.ts'
import { runOperation } from '../connection/operations.ts'
import type { AddMailDeps } from './add-mail.ts'
import { mailInsert } from './insert-mail.ts'
import { lockMailboxes } from './mailbox-locks.ts'
import { withPartitions } from './partitions.ts'

/** Stores mail for those whom an operation decides on. */
export function resolvedWrites(
  connections: Connections,
  deps: AddMailDeps,
): Pick<Store, keyof typeof resolvedMail> {
  const operations: Record<string, ResolveMail> = resolvedMail
  const writes = Object.entries(operations).map(([name, resolve]) => [
    name,
    async (mail: NewMail) => {
      const compressed = { size: mail.raw.length, zstd: await compressMailAsync(mail) }
      const [serial = 0] = await deps.serials(1)
      return await withPartitions(connections, async (db) => {
        const result = await runOperation(db, resolve(mail as never, deps.limits))
        if (result.recipients) {
          const boxes = await runOperation(db, lockMailboxes(result.recipients))
          const { add, queueInsert } = mailInsert({ boxes, ...deps })
          add({ ...mail, ...compressed, serial }, result.recipients)
          queueInsert(db)
        }
        return result
      })
    },
  ])
  return Object.fromEntries(writes)
}
