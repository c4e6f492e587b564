import type { Address } from '../base/address.ts'
import { counter } from '../base/metrics.ts'
import { runSteps } from '../base/run-steps.ts'
import { printable } from '../base/text.ts'
import type { FindMailBlock } from '../mail/blocking.ts'
import type { SubscribableBus } from '../mail/deps.ts'
import type { MailLog } from '../mail/log/mail-log.ts'
import { recipientTopics } from '../mail/receive-mail.ts'
import { accountTopic } from '../mail/rules/session.ts'
import {
  readFromAddresses,
  readFromHeader,
  readHead,
  readReturnPath,
  type ScannedHeader,
  scanHeader,
} from '../mime/header-summary.ts'
import type { Envelope } from '../shared/mail.ts'
import type { ActiveAccount } from './accounts.ts'
import type { AccountHealth, FetchedMail, FolderState } from './rules.ts'
import type { AccountStore } from './store.ts'

// As many as are fetched at once.
const DEFERRED_AT_ONCE = 50

const fetchedMails = counter<string>(
  'mayfly_imap_mails_total',
  'Mails fetched from Gmail accounts, by outcome',
  'outcome',
  ['stored'],
)

const unmatchedMails = counter<string>(
  'mayfly_imap_unmatched_total',
  'Mails in Gmail accounts that are for no live alias, by id of the account',
  'account',
)

/** Why most mail is left in an account. */
export const NO_ALIAS = 'for no live alias'

export interface FetchDeps {
  store: AccountStore
  bus: SubscribableBus
  now(): Date
  findMailBlock: FindMailBlock
  mailLog: Pick<MailLog, 'add'>
}

/** What the IMAP client needs to process the mail of one account, except randomness and a log. */
export function accountMailDeps(
  { store, bus, now, findMailBlock, mailLog }: FetchDeps,
  { id: accountId, email: account }: Pick<ActiveAccount, 'id' | 'email'>,
) {
  return {
    /** Which of these addresses are live aliases of this account, matched exactly. */
    findAliases: (addresses: readonly Address[]) => store.findAliases(accountId, addresses, now()),

    /**
     * In one commit: stores the mail for recipients that do not have it yet, defers it for those that are full, and advances
     * the folder state. Then wakes waiting clients.
     */
    async receive({ raw, ...fetched }: FetchedMail) {
      const size = raw.length
      const startedAt = performance.now()
      const header = await runSteps(scanHeader(raw))
      const envelope = fetchedEnvelope(header)
      const head = readHead(header, envelope.mailFrom)
      const from = readFromHeader(header)
      const mail = { ...fetched, accountId, envelope, head, from, raw, now: now() }
      const readFrom = () => readFromAddresses(header)
      const logResult = (
        result: keyof typeof LINES,
        recipients: LeftMail['recipients'] = fetched.recipients,
      ) => {
        const line = LINES[result]
        if (!line) return
        mailLog.add({ account }, line.result, () => ({
          ...facts({ ...fetched, size, recipients }),
          sender: envelope.mailFrom,
          reason: line.reason,
          ms: performance.now() - startedAt,
        }))
      }
      if (await findMailBlock({ mailFrom: envelope.mailFrom, readFrom })) {
        // Only the state of the folder is saved: the mail stays in the account and is not fetched again.
        await store.addFetchedMail({ ...mail, recipients: [] })
        fetchedMails.add('blocked')
        logResult('blocked')
        return 'blocked'
      }
      const stored = await store.addFetchedMail(mail)
      fetchedMails.add(stored.outcome)
      const isPartial = stored.outcome === 'stored' && stored.deferred
      const result = isPartial ? 'partly_stored' : stored.outcome
      logResult(result, stored.outcome === 'stored' ? stored.recipients : undefined)
      if (stored.outcome !== 'stored') return stored.outcome
      for (const topic of recipientTopics(stored.recipients)) bus.wake(topic)
      return isPartial ? 'partly_stored' : 'stored'
    },

    /** Deferred mail of this folder that can be delivered or dropped now, by ascending UID. */
    listDeferred: (folder: string, uidValidity: number) =>
      store.listDeferred({ accountId, folder, uidValidity, now: now(), limit: DEFERRED_AT_ONCE }),
    /** Drops deferred mail by UID, and all mail of the folder deferred under another UIDVALIDITY. */
    deleteDeferred: (folder: string, uidValidity: number, uids: readonly number[]) =>
      store.deleteDeferred({ accountId, folder, uidValidity, uids }),

    /** How far the folder was fetched; undefined before the first poll. */
    readFolder: (name: string) => store.readFolder(accountId, name),
    saveFolder: (name: string, state: FolderState) => store.saveFolder(accountId, name, state),
    oldestAlias: () => store.oldestAlias(accountId, now()),
    reportHealth: (health: AccountHealth, reason: string) =>
      store.setAccountHealth(accountId, health, reason),
    countUnmatched: () => unmatchedMails.add(String(accountId)),
    /** Adds mail that stays in the account to the mail log. */
    logLeft: (reason: string, mail: LeftMail) =>
      mailLog.add({ account }, 'ignored', () => ({ ...facts(mail), reason })),
    /** Subscribes to requests for an immediate poll, which are limited already; returns the unsubscribe function. */
    onPollRequest: (poll: () => void) => bus.subscribe(accountTopic(accountId), poll),
    now,
  }
}

/** In the mail log; nothing of mail that is there already. */
const LINES = {
  stored: { result: 'accepted', reason: '' },
  partly_stored: { result: 'accepted', reason: 'retried later for full mailboxes' },
  full: { result: 'deferred', reason: 'mailbox full, retried later' },
  refused: { result: 'refused', reason: 'by the rules of the address' },
  blocked: { result: 'refused', reason: 'sender blocked by the operator' },
  no_recipients: { result: 'ignored', reason: NO_ALIAS },
  known: undefined,
} as const

interface LeftMail {
  folder: string
  uid: number
  size: number
  recipients: readonly { address: Address }[]
}

const MAX_FOLDER = 40

function facts({ folder, uid, size, recipients }: LeftMail) {
  const id = `${printable(folder.slice(0, MAX_FOLDER))}/${uid}`
  return { command: 'FETCH', id, size, recipients }
}

/**
 * The delivering client is unknown; the account's server recorded the envelope sender as Return-Path. The topmost one is the
 * server's; one written by the sender is below it.
 */
function fetchedEnvelope(header: ScannedHeader): Envelope {
  const mailFrom = readReturnPath(header)
  return { clientIp: '', helo: '', mailFrom, tls: undefined, protocol: 'IMAP' }
}
