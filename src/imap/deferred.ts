import {
  batchSize,
  despiteDoubts,
  type Found,
  findRecipients,
  headsOf,
  type Looking,
  type OpenFolder,
  take,
} from './fetch.ts'
import type { Deferred } from './options.ts'

// So many in one go: then the folders are looked at for new mail again.
const AT_ONCE = 20

/**
 * Tries mail of the open folder again that an alias had no room for, as long as there is room now, and gives up what no alias
 * waits for any more. True if there may be more to do. Where the account's budget is used up it is left for a later round, so
 * that it costs new mail no pause.
 */
export async function retryDeferred(looking: Looking, folder: OpenFolder): Promise<boolean> {
  const { deps, ended } = looking
  for (let left = AT_ONCE; left > 0; left -= 1) {
    const mails = await deps.deferred(folder.name, folder.uidValidity)
    const [first] = mails
    if (!first || ended.aborted) return false
    const unwanted = mails.filter(({ wanted }) => !wanted)
    const step = () =>
      unwanted.length > 0 ? giveUp(looking, folder, unwanted) : retry(looking, folder, first)
    if (!(await despiteDoubts(looking, step))) return false
  }
  return true
}

/** One mail at a time: what it takes of the room is seen by the next. False if the budget is used up. */
async function retry(looking: Looking, folder: OpenFolder, mail: Deferred): Promise<boolean> {
  const { deps, budget } = looking
  const [found] = (await findAgain(looking, folder, [mail.uid])) ?? []
  // Those and no others: who has the alias by now may be somebody else.
  const recipients = found?.recipients.filter(({ mailbox }) => mail.mailboxes.includes(mailbox))
  if (!found || !recipients || recipients.length === 0) return giveUp(looking, folder, [mail])
  if (budget.bytes(found.head.size, deps.now())) return false
  const state = await deps.folder(folder.name)
  const result = await take(looking, folder, { ...found, recipients }, state)
  if (result === 'left' || result === 'unreadable') {
    await deps.deleteDeferred(folder.name, folder.uidValidity, [mail.uid])
  }
  if (result === 'nobody' && found.complete) looking.fetched(folder, mail.uid)
  return true
}

/** Mail whose aliases have it or have ended: it goes from the account like mail that was fetched. */
async function giveUp(
  looking: Looking,
  folder: OpenFolder,
  mails: readonly Deferred[],
): Promise<boolean> {
  const all = mails.map(({ uid }) => uid)
  const uids = all.slice(0, batchSize(looking, folder, all))
  const found = await findAgain(looking, folder, uids)
  if (!found) return false
  for (const { head, complete } of found) {
    const { uid, named } = head
    // Not a mail that has taken the number of another one.
    const isSame = mails.some((mail) => mail.uid === uid && named.all.includes(mail.address))
    if (complete && isSame) looking.fetched(folder, uid)
  }
  await looking.deps.deleteDeferred(folder.name, folder.uidValidity, uids)
  return true
}

/** Those that are still there; undefined if the budget is used up. */
async function findAgain(
  looking: Looking,
  folder: OpenFolder,
  uids: readonly number[],
): Promise<Found[] | undefined> {
  const { deps, session, budget } = looking
  if (typeof budget.messages(deps.now()) !== 'number') return undefined
  const heads = await headsOf(looking, folder, uids)
  budget.spend({ messages: uids.length, bytes: session.received() }, deps.now())
  return heads.map(await findRecipients(looking, heads, undefined))
}
