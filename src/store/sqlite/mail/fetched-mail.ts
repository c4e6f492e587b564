import { accountWrites } from '../../../gmail/account-store.ts'
import {
  aliasOf,
  defer,
  findAliasRows,
  findSeen,
  recordSeen,
} from '../../../gmail/fetched-mail-store.ts'
import { fetchedOutcome, resolveFetched } from '../../../gmail/rules.ts'
import type { AddFetchedMailResult, NewFetchedMail } from '../../../gmail/store.ts'
import type { ReceiveLimits } from '../../../mail/rules/recipient.ts'
import { compressMail } from '../../compression.ts'
import type { Db } from '../files.ts'
import { operationRunner } from '../operations.ts'
import type { InsertMail } from './add-mail.ts'
import { LIVE } from './sessions.ts'

export function fetchWrites(db: Db, limits: ReceiveLimits, insertMail: InsertMail) {
  const run = operationRunner(db)

  return {
    addFetchedMail(mail: NewFetchedMail): AddFetchedMailResult {
      const { accountId, recipients, now } = mail
      run(accountWrites.saveFolder(accountId, mail.folder, mail.state))
      const known = run(findSeen(mail))
      const fresh = recipients.filter(({ identity }) => !known.has(identity))
      const addresses = fresh.map(({ address }) => address)
      const aliases = run(findAliasRows(LIVE, accountId, { addresses, now }))
      const sized = { ...mail, recipients: fresh, size: mail.raw.length }
      const { taken, ...others } = resolveFetched(sized, limits, ({ address, mailbox }) => {
        const row = aliases.find((alias) => alias.address === address && alias.id === mailbox)
        return row && aliasOf(row)
      })
      const { full } = others
      run(defer(mail, full))
      if (fresh.length === 0 && recipients.length > 0) return { outcome: 'known' }
      if (taken.length === 0) return { outcome: fetchedOutcome(others) }
      run(recordSeen(LIVE, mail, taken))
      insertMail({ ...mail, size: mail.raw.length, zstd: compressMail(mail) }, taken)
      return { outcome: 'stored', recipients: taken, deferred: full.length > 0 }
    },
  }
}
