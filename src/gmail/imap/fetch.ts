import { setTimeout as sleep } from 'node:timers/promises'
import { type Address, hostOf, maskAddress } from '../../base/address.ts'
import type { LogFacts } from '../../base/log/log.ts'
import type { Recipient } from '../../mail/rules/recipient.ts'
import { NO_ALIAS } from '../fetch-mail.ts'
import { type FolderState, isAfterAliasCreation } from '../rules.ts'
import type { Budget, Pause } from './budget.ts'
import type { ImapConnection } from './connection.ts'
import { ImapError } from './errors.ts'
import { findNewUids, type OpenFolder } from './folders.ts'
import { fetchBody, fetchHeads, type Head, identityFor } from './message.ts'
import type { AccountLimits, ImapDeps, ReceiveResult } from './options.ts'
import type { MailLocation, PoisonMails } from './poison-mails.ts'
import { coversAllAliases, selectRecipients } from './recipients.ts'

/** What fetching from one account uses while one connection lasts. */
export interface FetchContext {
  deps: ImapDeps
  account: { email: Address; masked: string }
  connection: ImapConnection
  budget: Budget
  poisonMails: PoisonMails
  limits: AccountLimits
  bodyTimeoutMs: number
  /** Before a mail is tried again on the same connection. */
  retryDelayMs: number
  signal: AbortSignal
  /** Mail was processed, whatever the result. */
  onProgress(): void
  /** The mail is stored and no longer needed in the account. */
  onFetched(folder: OpenFolder, uid: number): void
}

const BATCH = 50
const ABORTED: Pause = { until: new Date(0), reason: '' }

/**
 * Fetches new mail of the open folder by ascending UID. Progress is saved with each mail, or after a batch without
 * recipients, so it may be interrupted anywhere. Returns a pause if the account's budget is exhausted.
 */
export function fetchNewMail(
  context: FetchContext,
  folder: OpenFolder,
): Promise<Pause | undefined> {
  return retryInvalidData(context, () => fetchNewMailOnce(context, folder))
}

/**
 * Retries on the same connection after invalid data: anyone can send a mail that the server cannot deliver, and it must be
 * given up without reconnecting.
 */
export async function retryInvalidData<T>(
  { connection, signal, retryDelayMs }: FetchContext,
  operation: () => Promise<T>,
): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      return await operation()
    } catch (error) {
      const isRetried = error instanceof ImapError && error.kind === 'invalid-data'
      if (!isRetried || connection.error()) throw error
      await sleep(retryDelayMs, undefined, { signal }).catch(() => {})
    }
  }
  return undefined
}

async function fetchNewMailOnce(
  context: FetchContext,
  folder: OpenFolder,
): Promise<Pause | undefined> {
  const { uids, upTo, since } = await findNewUids(context, folder)
  const last = uids.at(-1) ?? -1
  const { budget, deps, signal } = context
  while (uids.length > 0 && !signal.aborted) {
    const exhausted = budget.pauseFor(0, deps.now())
    if (exhausted) return exhausted
    const batch = uids.splice(0, batchSize(context, folder, uids))
    const pause = await fetchBatch(context, folder, { batch, since })
    if (pause) return pause
    context.onProgress()
  }
  if (upTo !== undefined && upTo > last && !signal.aborted) {
    await deps.saveFolder(folder.name, { uidValidity: folder.uidValidity, lastUid: upTo })
  }
  return undefined
}

export function batchSize(
  { poisonMails }: FetchContext,
  folder: OpenFolder,
  [next = 0]: readonly number[],
): number {
  return poisonMails.mustFetchAlone(locationOf(folder, next)) ? 1 : BATCH
}

/** Without mails whose head cannot be read. */
export async function readHeads(
  { connection, poisonMails, deps, account }: FetchContext,
  folder: OpenFolder,
  batch: readonly number[],
): Promise<Head[]> {
  const [first, ...others] = batch.map((uid) => locationOf(folder, uid))
  if (!first) return []
  if (others.length === 0 && poisonMails.isPoison(first)) {
    deps.log.warn({ account: account.masked, uid: first.uid }, UNREADABLE)
    return []
  }
  return poisonMails.guard([first, ...others], () => fetchHeads(connection, batch))
}

async function fetchBatch(
  context: FetchContext,
  folder: OpenFolder,
  { batch, since }: { batch: readonly number[]; since: Date | undefined },
): Promise<Pause | undefined> {
  const { deps, connection, budget } = context
  const heads = await readHeads(context, folder, batch)
  budget.spend(connection.takeReceivedBytes(), deps.now())
  const resolve = await findAliasRecipients(context, heads, since)
  let unsavedUid = 0
  let pause: Pause | undefined
  const unmatched = openUnmatched(context, folder, since)
  for (const head of heads) {
    const mail = resolve(head)
    pause = context.signal.aborted ? ABORTED : undefined
    if (mail.recipients.length > 0) pause ??= budget.pauseFor(head.size, deps.now())
    if (pause) break
    unmatched.add(mail)
    unsavedUid = (await fetchMessage(context, folder, mail)) === 'left' ? head.uid : 0
    if (unsavedUid === 0) unmatched.report()
  }
  // The last ones may have been deleted meanwhile; advance past them, too.
  if (!pause && heads.at(-1)?.uid !== batch.at(-1)) unsavedUid = batch.at(-1) ?? 0
  const { name, uidValidity } = folder
  if (unsavedUid > 0) await deps.saveFolder(name, { uidValidity, lastUid: unsavedUid })
  unmatched.report()
  return pause
}

/** For an operator looking for missing mail: it may name an alias that has expired, or was never issued. */
function openUnmatched(
  { deps, account }: FetchContext,
  { name: folder }: OpenFolder,
  since: Date | undefined,
) {
  const heads: Head[] = []
  return {
    add({ head, recipients }: AddressedMail): void {
      // Most mail of a first poll is older than every alias.
      if (recipients.length === 0 && !since) heads.push(head)
    },
    /** Called once it is saved that they are examined: an interrupted batch is repeated. */
    report(): void {
      for (const { candidates, uid, size } of heads.splice(0)) {
        deps.countUnmatched()
        const own = candidates.all.filter((address) => hostOf(address) === hostOf(account.email))
        const named = own.slice(0, LOGGED_RECIPIENTS).map((address) => ({ address }))
        deps.logLeft(NO_ALIAS, { folder, uid, size, recipients: named })
        const recipients = own.slice(0, SHOWN_RECIPIENTS).map(maskAddress).join(', ')
        const facts: LogFacts = { account: account.masked, folder, uid, recipients }
        deps.log.debug(facts, 'mail for no live alias left in the account')
      }
    },
  }
}

const SHOWN_RECIPIENTS = 5
const LOGGED_RECIPIENTS = 100

/** A mail with the live aliases it is for. */
export interface AddressedMail {
  head: Head
  recipients: Recipient[]
  /** False if it may name aliases that are not among the recipients. It is then never removed. */
  complete: boolean
}

/** One lookup for a whole batch, after its heads were fetched: every alias that received mail existed before. */
export async function findAliasRecipients(
  { deps, account, connection }: FetchContext,
  heads: readonly Head[],
  since: Date | undefined,
): Promise<(head: Head) => AddressedMail> {
  const host = hostOf(account.email)
  const addresses = new Set(heads.flatMap(({ candidates }) => candidates.all))
  // Every alias is at the account's own host.
  const possible = [...addresses].filter((address) => hostOf(address) === host)
  const live = possible.length > 0 ? await deps.findAliases(possible) : []
  const byAddress = new Map(live.map((recipient) => [recipient.address, recipient]))
  const isAlias = (address: Address) => byAddress.has(address)
  const mailbox = { account: account.email, gmail: connection.isGmail }
  return (head) => {
    const { candidates, receivedAt, uid } = head
    const forNobody = { head, recipients: [], complete: true }
    if (since && receivedAt && !isAfterAliasCreation(receivedAt, since)) return forNobody
    const selected = selectRecipients(candidates, isAlias, mailbox)
    if (since && !receivedAt && selected.length > 0) {
      // It may be for a previous owner of the alias.
      const facts: LogFacts = { account: account.masked, uid }
      deps.log.warn(facts, 'older mail without a readable date left in the account')
      return forNobody
    }
    const recipients = selected.flatMap((address) => byAddress.get(address) ?? [])
    const complete = coversAllAliases(candidates, selected, isAlias, mailbox)
    return { head, recipients, complete }
  }
}

const UNREADABLE = 'mail could not be read from the server; left in the account'

function locationOf({ name, uidValidity }: OpenFolder, uid: number): MailLocation {
  return { folder: name, uidValidity, uid }
}

/** No recipient waits for the mail any more. Blocked mail stays in the account, so that a mistaken block destroys nothing. */
const SETTLED: ReadonlySet<ReceiveResult> = new Set(['stored', 'known', 'refused'])

/** left: not fetched; unreadable: given up after repeated failures. */
type FetchResult = ReceiveResult | 'left' | 'unreadable'

/** Fetches a mail and stores it. Unless it is left, the folder state is `state` afterwards. */
export async function fetchMessage(
  context: FetchContext,
  folder: OpenFolder,
  { head, recipients, complete }: AddressedMail,
  state: FolderState = { uidValidity: folder.uidValidity, lastUid: head.uid },
): Promise<FetchResult> {
  const { deps, account, limits, connection, budget, poisonMails } = context
  const facts: LogFacts = { account: account.masked, uid: head.uid, size: head.size }
  const location = locationOf(folder, head.uid)
  if (recipients.length === 0) return 'left'
  const logLeft = (reason: string) =>
    deps.logLeft(reason, { folder: folder.name, uid: head.uid, size: head.size, recipients })
  if (head.size > limits.maxBytes) {
    deps.log.warn(facts, 'mail exceeds the size limit; left in the account')
    logLeft('too big')
    return 'left'
  }
  if (poisonMails.isPoison(location)) {
    deps.log.warn(facts, UNREADABLE)
    logLeft('could not be read from the server')
    // Saved at once: the next mail may break the connection.
    await deps.saveFolder(folder.name, state)
    context.onProgress()
    return 'unreadable'
  }
  const raw = await poisonMails.guard([location], () =>
    fetchBody(connection, head, context.bodyTimeoutMs),
  )
  budget.spend(connection.takeReceivedBytes(), deps.now())
  if (!raw) return 'left'
  const result = await deps.receive({
    folder: folder.name,
    uid: head.uid,
    state,
    recipients: recipients.map((one) => ({ ...one, identity: identityFor(head, one.address) })),
    raw,
    receivedAt: head.receivedAt ?? deps.now(),
  })
  if (result === 'full' || result === 'partly_stored') {
    deps.log.warn(facts, 'mailbox full; mail left in the account and retried later')
  }
  if (complete && SETTLED.has(result)) context.onFetched(folder, head.uid)
  if (result === 'stored' || result === 'partly_stored') context.onProgress()
  return result
}
