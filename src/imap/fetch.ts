import { setTimeout as rest } from 'node:timers/promises'
import { type Address, hostOf } from '../core/address.ts'
import { type FolderState, isAfterAliasCreation } from '../core/gmail.ts'
import type { LogFacts } from '../core/log.ts'
import type { Recipient } from '../core/recipient.ts'
import type { Budget, Pause } from './budget.ts'
import type { ImapSession } from './connection.ts'
import { ImapFault } from './errors.ts'
import { type FolderMarks, unseenIn } from './folders.ts'
import { fetchBody, fetchHeads, type Head, identityFor } from './message.ts'
import type { AccountLimits, ImapDeps, ReceiveResult } from './options.ts'
import type { Place, PoisonMails } from './poison-mails.ts'
import { addressees, isForNobodyElse } from './recipients.ts'

/** What a look at a folder uses. */
export interface Looking {
  deps: Pick<
    ImapDeps,
    | 'aliases'
    | 'receive'
    | 'deferred'
    | 'deleteDeferred'
    | 'folder'
    | 'passed'
    | 'oldestAlias'
    | 'now'
    | 'log'
  >
  account: { email: Address; masked: string }
  session: ImapSession
  budget: Budget
  doubts: PoisonMails
  limits: AccountLimits
  bodyMs: number
  /** Between two tries of a mail that the server did not show whole. */
  retryMs: number
  ended: AbortSignal
  /** Some mails were dealt with, one way or the other. */
  progressed(): void
  /** Kept, and no longer needed in the account. */
  fetched(folder: OpenFolder, uid: number): void
}

/** A folder that is open now. */
export interface OpenFolder extends FolderMarks {
  name: string
}

const BATCH = 50
const NONE: Pause = { until: new Date(0), reason: '' }

/**
 * Takes in what is new in the open folder, in the order of its UIDs. Where it stands is kept with each mail, or after a
 * batch that was for nobody, so it may be broken off anywhere. Answers when the account's budget wants a pause.
 */
export function lookAt(looking: Looking, folder: OpenFolder): Promise<Pause | undefined> {
  return despiteDoubts(looking, () => lookOnce(looking, folder))
}

/** Does it again on the same connection as long as a single mail is in its way. */
export async function despiteDoubts<T>(
  { session, ended, retryMs }: Looking,
  look: () => Promise<T>,
): Promise<T | undefined> {
  while (!ended.aborted) {
    try {
      return await look()
    } catch (error) {
      // Something is wrong with one mail, which anybody can send: it is tried again, and given up, on this connection.
      const isOneMails = error instanceof ImapFault && error.kind === 'doubtful'
      if (!isOneMails || session.fault()) throw error
      await rest(retryMs, undefined, { signal: ended }).catch(() => {})
    }
  }
  return undefined
}

async function lookOnce(looking: Looking, folder: OpenFolder): Promise<Pause | undefined> {
  const { uids, upTo, since } = await unseenIn(looking, folder)
  const last = uids.at(-1) ?? -1
  const { budget, deps, ended } = looking
  while (uids.length > 0 && !ended.aborted) {
    const room = budget.messages(deps.now())
    if (typeof room !== 'number') return room
    const batch = uids.splice(0, Math.min(batchSize(looking, folder, uids), room))
    const pause = await takeBatch(looking, folder, { batch, since })
    if (pause) return pause
    looking.progressed()
  }
  if (upTo !== undefined && upTo > last && !ended.aborted) {
    await deps.passed(folder.name, { uidValidity: folder.uidValidity, lastUid: upTo })
  }
  return undefined
}

export function batchSize(
  { doubts }: Looking,
  folder: OpenFolder,
  [next = 0]: readonly number[],
): number {
  return doubts.alone(placeOf(folder, next)) ? 1 : BATCH
}

/** None of a mail of which not even the head can be read. */
export async function headsOf(
  { session, doubts, deps, account }: Looking,
  folder: OpenFolder,
  batch: readonly number[],
): Promise<Head[]> {
  const [first, ...others] = batch.map((uid) => placeOf(folder, uid))
  if (!first) return []
  if (others.length === 0 && doubts.given(first)) {
    deps.log.warn({ account: account.masked, uid: first.uid }, UNREADABLE)
    return []
  }
  return doubts.during([first, ...others], () => fetchHeads(session, batch))
}

async function takeBatch(
  looking: Looking,
  folder: OpenFolder,
  { batch, since }: { batch: readonly number[]; since: Date | undefined },
): Promise<Pause | undefined> {
  const { deps, session, budget } = looking
  const heads = await headsOf(looking, folder, batch)
  budget.spend({ messages: batch.length, bytes: session.received() }, deps.now())
  const found = await findRecipients(looking, heads, since)
  let lastUid = 0
  let pause: Pause | undefined
  for (const head of heads) {
    const mail = found(head)
    const isWanted = mail.recipients.length > 0
    pause = looking.ended.aborted ? NONE : undefined
    if (isWanted) pause ??= budget.bytes(head.size, deps.now())
    if (pause) break
    const noted = isWanted && (await take(looking, folder, mail)) !== 'left'
    lastUid = noted ? 0 : head.uid
  }
  // The last ones may be gone by now, and are passed like the rest.
  if (!pause && heads.at(-1)?.uid !== batch.at(-1)) lastUid = batch.at(-1) ?? 0
  const { name, uidValidity } = folder
  if (lastUid > 0) await deps.passed(name, { uidValidity, lastUid })
  return pause
}

/** Asked once for a whole batch, and after its heads were fetched: who got mail there had the alias before. */
export async function findRecipients(
  { deps, account, session }: Looking,
  heads: readonly Head[],
  since: Date | undefined,
): Promise<(head: Head) => Found> {
  const host = hostOf(account.email)
  const addresses = new Set(heads.flatMap(({ named }) => named.all))
  // Every alias is at the account's own host: other people's addresses need no look-up.
  const possible = [...addresses].filter((address) => hostOf(address) === host)
  const live = possible.length > 0 ? await deps.aliases(possible) : []
  const byAddress = new Map(live.map((recipient) => [recipient.address, recipient]))
  const isAlias = (address: Address) => byAddress.has(address)
  const mailbox = { account: account.email, gmail: session.gmail }
  return (head) => {
    const { named, receivedAt, uid } = head
    const forNobody = { head, recipients: [], complete: true }
    if (since && receivedAt && !isAfterAliasCreation(receivedAt, since)) return forNobody
    const found = addressees(named, isAlias, mailbox)
    if (since && !receivedAt && found.length > 0) {
      // It may have come for a former owner of the alias.
      const facts: LogFacts = { account: account.masked, uid }
      deps.log.warn(facts, 'an older mail whose time cannot be read stays in the account')
      return forNobody
    }
    const recipients = found.flatMap((address) => byAddress.get(address) ?? [])
    return { head, recipients, complete: isForNobodyElse(named, found, isAlias, mailbox) }
  }
}

/** A mail that is for somebody. */
export interface Found {
  head: Head
  recipients: Recipient[]
  /** False if it may name aliases that are not among the recipients. It is then never removed. */
  complete: boolean
}

export const UNREADABLE = 'a mail cannot be read from the server; it stays in the account'

export function placeOf({ name, uidValidity }: OpenFolder, uid: number): Place {
  return { folder: name, uidValidity, uid }
}

/** left: it is not fetched; unreadable: the server has failed too often to show it. */
type TakeResult = ReceiveResult | 'left' | 'unreadable'

/** Fetches a mail and has it kept; the folder stands at `state` afterwards, unless the mail is left. */
export async function take(
  looking: Looking,
  folder: OpenFolder,
  { head, recipients, complete }: Found,
  state: FolderState = { uidValidity: folder.uidValidity, lastUid: head.uid },
): Promise<TakeResult> {
  const { deps, account, limits, session, budget, doubts } = looking
  const facts: LogFacts = { account: account.masked, uid: head.uid, size: head.size }
  const place = placeOf(folder, head.uid)
  if (head.size > limits.maxBytes) {
    deps.log.warn(facts, 'a mail is larger than is taken; it stays in the account')
    return 'left'
  }
  if (doubts.given(place)) {
    deps.log.warn(facts, UNREADABLE)
    // At once: the next mail may end the connection.
    await deps.passed(folder.name, state)
    looking.progressed()
    return 'unreadable'
  }
  const raw = await doubts.during([place], () => fetchBody(session, head, looking.bodyMs))
  budget.spend({ bytes: session.received() }, deps.now())
  if (!raw) return 'left'
  const result = await deps.receive({
    folder: folder.name,
    uid: head.uid,
    state,
    recipients: recipients.map((one) => ({ ...one, identity: identityFor(head, one.address) })),
    raw,
    receivedAt: head.receivedAt ?? deps.now(),
  })
  if (result === 'full' || result === 'partly') {
    deps.log.warn(facts, 'no room for a mail; it stays in the account and is tried again')
  }
  if (complete && (result === 'kept' || result === 'known')) looking.fetched(folder, head.uid)
  if (result === 'kept' || result === 'partly') looking.progressed()
  return result
}
