import { accountWrites } from '../../../gmail/account-store.ts'
import { defer, findSeen, recordSeen } from '../../../gmail/fetched-mail-store.ts'
import { fetchedOutcome, resolveFetched } from '../../../gmail/rules.ts'
import type { AddFetchedMailResult, NewFetchedMail } from '../../../gmail/store.ts'
import type { Recipient } from '../../../mail/rules/recipient.ts'
import { isLive } from '../../../mail/rules/session.ts'
import { compressMailAsync } from '../../compression.ts'
import type { Connections } from '../connection/connections.ts'
import { runOperation } from '../connection/operations.ts'
import type { AddMailDeps } from './add-mail.ts'
import { mailInsert } from './insert-mail.ts'
import { type LockedMailboxes, lockMailboxes } from './mailbox-locks.ts'
import { withPartitions } from './partitions.ts'
import { LIVE } from './sessions.ts'

export function fetchWrites(connections: Connections, deps: AddMailDeps) {
  return {
    async addFetchedMail(mail: NewFetchedMail): Promise<AddFetchedMailResult> {
      const compressed = { size: mail.raw.length, zstd: await compressMailAsync(mail) }
      const [serial = 0] = await deps.serials(1)
      return await withPartitions(connections, async (db, used) => {
        // First, because it locks: of two nodes that fetch the same mail, the second waits here and then finds it known.
        await runOperation(db, accountWrites.saveFolder(mail.accountId, mail.folder, mail.state))
        const known = await runOperation(db, findSeen(mail))
        const fresh = mail.recipients.filter(({ identity }) => !known.has(identity))
        const boxes = await lockMailboxes(db, fresh)
        const sized = { ...mail, recipients: fresh, size: compressed.size }
        const { taken, ...others } = resolveFetched(sized, deps.limits, (one) =>
          find(mail, one, boxes),
        )
        const { full } = others
        await runOperation(db, defer(mail, full))
        if (fresh.length === 0 && mail.recipients.length > 0) return { outcome: 'known' }
        if (taken.length === 0) return { outcome: fetchedOutcome(others) }
        await runOperation(db, recordSeen(LIVE, mail, taken))
        const { add, queueInsert } = mailInsert({ boxes, used, ...deps })
        add({ ...mail, ...compressed, serial }, taken)
        queueInsert(db)
        return { outcome: 'stored', recipients: taken, deferred: full.length > 0 }
      })
    },
  }
}

function find(
  { accountId, now }: NewFetchedMail,
  { address, mailbox }: Recipient,
  boxes: LockedMailboxes,
) {
  const box = boxes.sessions.get(mailbox)
  const isTheirs = box?.owned && box.address === address && box.account_id === accountId
  return isTheirs && isLive(box, now) ? box : undefined
}
