import { seriesReads, seriesTransactions } from '../admin/series/store.ts'
import { adminSessionReads, adminSessionWrites } from '../admin/session-store.ts'
import type { Operation } from '../base/operation.ts'
import { blockReads, blockTransactions } from '../blocks/store.ts'
import { checkRunReads, checkRunWrites } from '../doctor/store.ts'
import { distrustOwnDomains } from '../domains/own/distrust-store.ts'
import { ownDomainReads, ownDomainTransactions, ownDomainWrites } from '../domains/own/store.ts'
import { doorReads, doorTransactions, doorWrites } from '../doors/store.ts'
import { accountReads, accountWrites, resolveFetchedMail } from '../gmail/store.ts'
import { installationReads, installationWrites } from '../keys/installation-store.ts'
import { keyReads, keyTransactions, keyWrites } from '../keys/store.ts'
import { domainReads, domainWrites } from '../mail/domain-store.ts'
import { keyMailReads } from '../mail/key-mail-store.ts'
import { keySessionReads, keySessionWrites } from '../mail/key-session-store.ts'
import {
  type LedgerStart,
  ledgerReads,
  ledgerTransactions,
  ledgerWrites,
} from '../mail/ledger-store.ts'
import { levelReads } from '../mail/level-store.ts'
import { mailLogReads, mailLogTransactions } from '../mail/log/store.ts'
import { messageReads, messageWrites, type ReleaseRaws } from '../mail/message-store.ts'
import { operatorReads } from '../mail/operator-store.ts'
import type { ReceiveLimits } from '../mail/rules/recipient.ts'
import { sessionEnds } from '../mail/session-store.ts'
import type { StoredRecipient } from '../mail/store.ts'
import { orderReads, orderTransactions, orderWrites } from '../shop/store.ts'
import { tlsReads, tlsWrites } from '../tls/store.ts'
import { webhookReads } from '../webhooks/read-store.ts'
import { webhookTransactions, webhookWrites } from '../webhooks/store.ts'
import { shopSweep } from './shop/sweep.ts'

// The operations that both engines run: a line for each folder that has some.

interface Engine {
  /** The condition for the raw mail of a message. */
  rawMail: string
  /** Selects what the database takes, as `bytes`. */
  usedBytes: string
  limits: ReceiveLimits
}

export const mailReads = ({ rawMail, usedBytes, limits }: Engine) => ({
  ...domainReads,
  ...messageReads,
  ...keyMailReads,
  ...keySessionReads,
  ...operatorReads(rawMail),
  ...levelReads(usedBytes),
  ...mailLogReads,
  ...ledgerReads,
  ...accountReads(limits),
  ...seriesReads,
  ...blockReads,
  ...checkRunReads,
  ...ownDomainReads,
  ...doorReads,
  ...tlsReads,
})

export const mailWrites = {
  ...domainWrites,
  ...sessionEnds,
  ...keySessionWrites,
  ...ledgerWrites,
  ...accountWrites,
  ...checkRunWrites,
  ...ownDomainWrites,
  ...doorWrites,
  ...tlsWrites,
}

/** Each in one transaction. */
export const mailTransactions = (releaseRaws: ReleaseRaws) => ({
  ...messageWrites(releaseRaws),
  ...mailLogTransactions,
  ...seriesTransactions,
  ...blockTransactions,
  ...ownDomainTransactions,
  ...doorTransactions,
  distrustOwnDomains,
})

/** Each in one transaction, when a service starts. */
export const ledgerStarts = {
  ...ledgerTransactions,
  /** What has no state of the ledger was restored from a backup: domains of keys may have changed hands since. */
  *beginLedger(start: LedgerStart & { isNew: boolean }): Operation<void> {
    const isLost = yield* ledgerTransactions.beginLedger(start)
    if (isLost) yield* distrustOwnDomains(start.now)
  },
}

/** Decides who gets a mail. */
export type ResolveMail = (
  mail: never,
  limits: ReceiveLimits,
) => Operation<{ outcome: string; recipients?: StoredRecipient[] }>

/** They decide who gets a mail; the engine stores it for them in the same transaction. */
export const resolvedMail = {
  addFetchedMail: resolveFetchedMail,
}

export const shopReads = {
  ...installationReads,
  ...keyReads,
  ...adminSessionReads,
  ...orderReads,
  ...webhookReads,
}

export const shopWrites = {
  ...installationWrites,
  ...keyWrites,
  ...shopSweep,
  ...adminSessionWrites,
  ...orderWrites,
  ...webhookWrites,
}

/** Each in one transaction. */
export const shopTransactions = {
  ...keyTransactions,
  ...orderTransactions,
  ...webhookTransactions,
}
