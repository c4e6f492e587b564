import type { Address } from '../core/address.ts'
import { hostOf } from '../core/address.ts'
import type { FolderState } from '../core/gmail.ts'
import type { LogFacts } from '../core/log.ts'
import type { Recipient } from '../core/recipient.ts'
import { fetchBody } from './body.ts'
import type { Budget, Pause } from './budget.ts'
import type { Doubts } from './doubts.ts'
import type { FolderMarks } from './folders.ts'
import { fetchHeads, type Head } from './heads.ts'
import type { ImapNeeds } from './needs.ts'
import type { AccountLimits } from './options.ts'
import type { ImapSession } from './session.ts'

/** What a look at a folder uses. */
export interface Looking {
  needs: Pick<
    ImapNeeds,
    'aliases' | 'receive' | 'folder' | 'passed' | 'oldestAlias' | 'now' | 'log'
  >
  account: { email: Address; masked: string }
  session: ImapSession
  budget: Budget
  doubts: Doubts
  limits: AccountLimits
  bodyMs: number
  ended: AbortSignal
  /** Kept, and no longer needed in the account. */
  fetched(folder: OpenFolder, uid: number): void
}

/** A folder that is open now. */
export interface OpenFolder extends FolderMarks {
  name: string
}

const BATCH = 50
const NONE: Pause = { ms: 0, reason: '' }
const DAY = 24 * 60 * 60_000

/**
 * Takes in what is new in the open folder, in the order of its UIDs. Where it stands is kept with each mail, or after a
 * batch that was for nobody, so it may be broken off anywhere. Answers when the account's budget wants a pause.
 */
export async function lookAt(looking: Looking, folder: OpenFolder): Promise<Pause | undefined> {
  const uids = await whatIsNew(looking, folder)
  const { budget, needs } = looking
  while (uids.length > 0 && !looking.ended.aborted) {
    const room = budget.messages(needs.now())
    if (typeof room !== 'number') return room
    const batch = uids.splice(0, Math.min(BATCH, room))
    const broken = await takeBatch(looking, folder, batch)
    if (broken) return broken
  }
  return undefined
}

/**
 * UIDs above the last one, while the numbering is the one we know. Else, and at the very first look, all since the oldest
 * alias that lives: what is older is for nobody, and what was kept before is known by its identity.
 */
async function whatIsNew(looking: Looking, folder: OpenFolder): Promise<number[]> {
  const { needs, session, account } = looking
  const known = await needs.folder(folder.name)
  if (known && isSameNumbering(known, folder)) return uidsAfter(session, known.lastUid)
  if (known) {
    needs.log.info({ account: account.masked }, 'a folder is numbered anew; looking again')
  }
  const oldest = await needs.oldestAlias()
  const uids = oldest ? await session.search({ since: dayBefore(oldest) }) : []
  if (uids.length === 0) {
    const lastUid = (folder.uidNext ?? (await highestUid(session)) + 1) - 1
    await needs.passed(folder.name, { uidValidity: folder.uidValidity, lastUid })
  }
  return uids
}

/** False also when UIDs begin anew although the server says they do not. */
function isSameNumbering(known: FolderState, { uidValidity, uidNext }: OpenFolder): boolean {
  return known.uidValidity === uidValidity && (uidNext === undefined || uidNext > known.lastUid)
}

async function uidsAfter(session: ImapSession, lastUid: number): Promise<number[]> {
  // RFC 3501 6.4.8: a range that ends with `*` has the last mail in it even when that is older.
  const uids = await session.search({ uid: `${lastUid + 1}:*` })
  return uids.filter((uid) => uid > lastUid)
}

async function highestUid(session: ImapSession): Promise<number> {
  return (await session.search({ all: true })).at(-1) ?? 0
}

/** SINCE knows days only, and each server its own time zone. The library may count back from the machine's own clock. */
function dayBefore(time: Date): Date {
  return new Date(Math.min(time.getTime(), Date.now()) - DAY)
}

async function takeBatch(
  looking: Looking,
  folder: OpenFolder,
  batch: readonly number[],
): Promise<Pause | undefined> {
  const { needs, session, budget } = looking
  const heads = await fetchHeads(session, batch)
  budget.spend({ messages: batch.length, bytes: session.received() }, needs.now())
  const live = await liveAliases(looking, heads)
  let lastUid = 0
  let pause: Pause | undefined
  for (const head of heads) {
    const recipients = head.addresses.flatMap((address) => live.get(address) ?? [])
    pause = looking.ended.aborted ? NONE : undefined
    if (recipients.length > 0) pause ??= budget.bytes(head.size, needs.now())
    if (pause) break
    const kept = recipients.length > 0 && (await take(looking, folder, { head, recipients }))
    lastUid = kept ? 0 : head.uid
  }
  // The last ones may be gone by now, and are passed like the rest.
  if (!pause && heads.at(-1)?.uid !== batch.at(-1)) lastUid = batch.at(-1) ?? 0
  const { name, uidValidity } = folder
  if (lastUid > 0) await needs.passed(name, { uidValidity, lastUid })
  return pause
}

async function liveAliases(
  { needs, account }: Looking,
  heads: readonly Head[],
): Promise<Map<Address, Recipient>> {
  const host = hostOf(account.email)
  const addresses = new Set(heads.flatMap((head) => head.addresses))
  // Every alias is at the account's own host: other people's addresses need no look-up.
  const possible = [...addresses].filter((address) => hostOf(address) === host)
  if (possible.length === 0) return new Map()
  const live = await needs.aliases(possible)
  return new Map(live.map((recipient) => [recipient.address, recipient]))
}

interface Found {
  head: Head
  recipients: Recipient[]
}

/** True when the mail was committed, and with it where the folder stands. */
async function take(
  looking: Looking,
  folder: OpenFolder,
  { head, recipients }: Found,
): Promise<boolean> {
  const { needs, account, limits, session, budget, doubts } = looking
  const { uidValidity, name } = folder
  const facts: LogFacts = { account: account.masked, uid: head.uid, size: head.size }
  const place = `${name} ${uidValidity} ${head.uid}`
  if (head.size > limits.maxBytes) {
    needs.log.warn(facts, 'a mail is larger than is taken; it stays in the account')
    return false
  }
  if (doubts.given(place)) {
    needs.log.warn(facts, 'a mail cannot be read from the server; it stays in the account')
    return false
  }
  const raw = await doubts.during(place, () => fetchBody(session, head, looking.bodyMs))
  budget.spend({ bytes: session.received() }, needs.now())
  if (!raw) return false
  const outcome = await needs.receive({
    folder: name,
    state: { uidValidity, lastUid: head.uid },
    identity: head.identity,
    recipients,
    raw,
    receivedAt: head.receivedAt ?? needs.now(),
  })
  if (outcome === 'full') needs.log.warn(facts, 'no room for a mail; it stays in the account')
  if (outcome === 'kept' || outcome === 'known') looking.fetched(folder, head.uid)
  return outcome === 'kept'
}
