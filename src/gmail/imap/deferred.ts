import type { DeferredMail } from '../rules.ts'
import {
  type AddressedMail,
  batchSize,
  type FetchContext,
  fetchMessage,
  findAliasRecipients,
  readHeads,
  retryInvalidData,
} from './fetch.ts'
import type { OpenFolder } from './folders.ts'

// Per call; new mail is polled for in between.
const MAX_PER_RUN = 20

/**
 * Delivers deferred mail of the open folder that now fits, and drops what no alias waits for any more. Returns true if there
 * may be more. Stops when the account's budget is exhausted, so that new mail does not have to pause for it.
 */
export async function retryDeferred(context: FetchContext, folder: OpenFolder): Promise<boolean> {
  const { deps, signal } = context
  for (let left = MAX_PER_RUN; left > 0; left -= 1) {
    const mails = await deps.listDeferred(folder.name, folder.uidValidity)
    const [first] = mails
    if (!first || signal.aborted) return false
    const unwanted = mails.filter(({ wanted }) => !wanted)
    const step = () =>
      unwanted.length > 0 ? drop(context, folder, unwanted) : retryMail(context, folder, first)
    if (!(await retryInvalidData(context, step))) return false
  }
  return true
}

/** One mail at a time, because each changes the room left for the next. False if the budget is exhausted. */
async function retryMail(
  context: FetchContext,
  folder: OpenFolder,
  mail: DeferredMail,
): Promise<boolean> {
  const { deps, budget } = context
  const [found] = (await findDeferred(context, folder, [mail.uid])) ?? []
  // Only the original sessions: the alias may belong to somebody else by now.
  const recipients = found?.recipients.filter(({ mailbox }) => mail.mailboxes.includes(mailbox))
  if (!found || !recipients || recipients.length === 0) return drop(context, folder, [mail])
  if (budget.pauseFor(found.head.size, deps.now())) return false
  const state = await deps.readFolder(folder.name)
  const result = await fetchMessage(context, folder, { ...found, recipients }, state)
  if (result === 'left' || result === 'unreadable') {
    await deps.deleteDeferred(folder.name, folder.uidValidity, [mail.uid])
  }
  if (result === 'no_recipients' && found.complete) context.onFetched(folder, mail.uid)
  return true
}

/** Mail whose aliases have it or have expired: removed from the account like fetched mail. */
async function drop(
  context: FetchContext,
  folder: OpenFolder,
  mails: readonly DeferredMail[],
): Promise<boolean> {
  const all = mails.map(({ uid }) => uid)
  const uids = all.slice(0, batchSize(context, folder, all))
  const found = await findDeferred(context, folder, uids)
  if (!found) return false
  for (const { head, complete } of found) {
    const { uid, candidates } = head
    // Never another mail that has taken over the UID.
    const isSame = mails.some((mail) => mail.uid === uid && candidates.all.includes(mail.address))
    if (complete && isSame) context.onFetched(folder, uid)
  }
  await context.deps.deleteDeferred(folder.name, folder.uidValidity, uids)
  return true
}

/** Those still in the account; undefined if the budget is exhausted. */
async function findDeferred(
  context: FetchContext,
  folder: OpenFolder,
  uids: readonly number[],
): Promise<AddressedMail[] | undefined> {
  const { deps, connection, budget } = context
  if (budget.pauseFor(0, deps.now())) return undefined
  const heads = await readHeads(context, folder, uids)
  budget.spend(connection.takeReceivedBytes(), deps.now())
  return heads.map(await findAliasRecipients(context, heads, undefined))
}
