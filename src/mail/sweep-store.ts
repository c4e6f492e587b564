import { type Operation, query } from '../base/operation.ts'
import { endUnknownLedger, pruneLedger } from './ledger-store.ts'
import { sweepForgotten, sweepMailLog } from './log/store.ts'
import { type ReleaseRaws, removeMessages } from './message-store.ts'
import type { Volume } from './operator-store.ts'
import type { LedgerHmac } from './rules/ledger.ts'
import { type MailboxId, OPERATOR, POOL } from './rules/session.ts'
import type { SweepOptions } from './store.ts'

// Mail waits behind a step: about 3 ms on SQLite, but 10 if the expired mail has to be read from the disk.
const MESSAGES_PER_STEP = 100
const SESSIONS_PER_STEP = 200
// Deleting large mails takes as long as writing them: 100 could exceed the statement timeout.
const BYTES_PER_STEP = 64 * 1024 * 1024

// Reads check the expiry themselves; the sweep waits, so that it does not race with mail or extensions in flight.
const GRACE_MS = 60_000

/** The parts of one small step of the sweep. Each may be a transaction of its own, and returns true if there may be more to do. */
export function sweepSteps(
  { now, cooldownMs, poolMs, operatorMs, ownMs, poolOff = false, ...kept }: SweepOptions,
  { hmac, releaseRaws }: { hmac: LedgerHmac; releaseRaws: ReleaseRaws },
): Operation<boolean>[] {
  const before = (ms: number) => now.getTime() - ms
  const release: ReleaseRaws = (rawIds) => releaseRaws(rawIds, now)
  return [
    clearEnded(before(GRACE_MS), release),
    deleteAfterCooldown(before(cooldownMs), release),
    expireShared(POOL, { now, until: before(poolMs) }, release),
    expireShared(OPERATOR, { now, until: before(operatorMs) }, release),
    expirePermanent(before(ownMs), release),
    endUnknownLedger(now),
    sweepMailLog({
      now: now.getTime(),
      until: before(kept.mailLogMs),
      maxLines: kept.mailLogLines,
    }),
    sweepForgotten(before(GRACE_MS)),
    ...(poolOff ? [pruneLedger(hmac)] : []),
  ]
}

interface EndedSession {
  id: MailboxId
  keyed: boolean | number
  count: number
  bytes: number
}

/** Deletes the mail of sessions that have expired, and sessions whose address was released. */
function* clearEnded(until: number, releaseRaws: ReleaseRaws): Operation<boolean> {
  // Sessions that are being changed are left for the next step.
  const ended = yield* query<EndedSession>(
    `select id, key_id is not null as keyed, count, bytes from mail.session
     where cleared = false and expires_at <= $1 order by expires_at limit ${SESSIONS_PER_STEP}
     for no key update skip locked`,
    [until],
  )
  const [first] = ended
  if (!first) return false
  // This changes what a key sees: all such changes take the pool's lock, as added mail does.
  if (ended.some(({ keyed, count }) => keyed && count > 0)) {
    yield* query('select 1 from mail.shared_mailbox where id = $1 for no key update', [POOL])
  }
  let fitting = asManyAsFit(ended).map(({ id }) => id)
  if (fitting.length === 0) {
    const { messages } = yield* removeOldest(first, releaseRaws)
    if (messages > 0) return true
    // Version 0.3 subtracted nothing before it had deleted all mail of a session.
    fitting = [first.id]
  }
  const rawIds = yield* deleteMail(fitting)
  // A version in an update of SQLite is a change of what the key sees, whatever its value.
  yield* query(
    `update mail.session set version = version + 1, count = 0, bytes = 0, cleared = true
     where id = any($1::bigint[]) and count > 0`,
    [fitting],
  )
  yield* query(
    'update mail.session set cleared = true where id = any($1::bigint[]) and cleared = false',
    [fitting],
  )
  // After their mail is subtracted from what their key holds.
  yield* query('delete from mail.session where id = any($1::bigint[]) and address is null', [
    fitting,
  ])
  // All at once, so that they are locked in the same order as by an extension.
  yield* releaseRaws(rawIds)
  return fitting.length < ended.length || ended.length === SESSIONS_PER_STEP
}

function asManyAsFit<Part extends { count: number; bytes: number }>(
  ended: readonly Part[],
): readonly Part[] {
  let messages = 0
  let bytes = 0
  const over = ended.findIndex((session) => {
    messages += session.count
    bytes += session.bytes
    return messages > MESSAGES_PER_STEP || bytes > BYTES_PER_STEP
  })
  return over === -1 ? ended : ended.slice(0, over)
}

/** Deletes as much mail of a session as fits in a step. */
function* removeOldest(
  { id, count, bytes }: EndedSession,
  releaseRaws: ReleaseRaws,
): Operation<Volume> {
  const share = Math.floor(count * Math.min(1, BYTES_PER_STEP / bytes))
  const most = Math.min(Math.max(share, 1), MESSAGES_PER_STEP)
  const oldest = yield* oldestMessages(id, most)
  const ids = oldest.map((message) => message.id)
  return yield* removeMessages(id, ids, releaseRaws)
}

/** Deletes all messages of sessions; returns their raw mail. */
function* deleteMail(sessions: readonly MailboxId[]): Operation<number[]> {
  const gone = yield* query<{ raw_id: number }>(
    'delete from mail.message where mailbox = any($1::bigint[]) returning raw_id',
    [sessions],
  )
  return gone.map((row) => row.raw_id)
}

/** Deletes sessions whose cool-down is over. */
function* deleteAfterCooldown(until: number, releaseRaws: ReleaseRaws): Operation<boolean> {
  const gone = yield* query<{ id: MailboxId }>(
    `delete from mail.session where id in (select id from mail.session
       where cleared = true and expires_at <= $1 order by expires_at limit ${SESSIONS_PER_STEP}
       for update skip locked) returning id`,
    [until],
  )
  // Version 0.3 accepted mail for a cleared session if the clock had stepped back.
  const rawIds = yield* deleteMail(gone.map(({ id }) => id))
  yield* releaseRaws(rawIds)
  return gone.length === SESSIONS_PER_STEP
}

/** Deletes mail of a shared mailbox that was received until a time. */
function* expireShared(
  mailbox: MailboxId,
  { now, until }: { now: Date; until: number },
  releaseRaws: ReleaseRaws,
): Operation<boolean> {
  const oldest = yield* oldestMessages(mailbox, MESSAGES_PER_STEP)
  // If the clock was ahead when they were received, later mail may be due before them.
  const isAhead = oldest.some((row) => row.received_at > now.getTime())
  const dueRows = isAhead
    ? yield* dueAmongOldest(mailbox, until)
    : oldest.filter((row) => row.received_at <= until)
  const due = dueRows.map(({ id }) => id)
  const last = due.at(-1)
  if (last === undefined) return false
  yield* removeMessages(mailbox, due, releaseRaws)
  yield* query(
    `update mail.shared_mailbox set swept_id = greatest(swept_id, cast($2 as bigint)) where id = $1`,
    [mailbox, last],
  )
  return due.length === MESSAGES_PER_STEP
}

/** Deletes mail of permanent mailboxes that was received until a time: in one step, that of one of them. */
function* expirePermanent(until: number, releaseRaws: ReleaseRaws): Operation<boolean> {
  const due = yield* query<{ mailbox: MailboxId; id: number; size: number }>(
    `select mailbox, id, size from mail.message where permanent is not null and received_at <= $1
     order by received_at limit ${MESSAGES_PER_STEP}`,
    [until],
  )
  const [first] = due
  if (!first) return false
  const theirs = due
    .filter(({ mailbox }) => mailbox === first.mailbox)
    .map(({ id, size }) => ({ id, count: 1, bytes: size }))
  const fitting = asManyAsFit(theirs)
  const ids = fitting.length === 0 ? [first.id] : fitting.map(({ id }) => id)
  yield* removeMessages(first.mailbox, ids, releaseRaws)
  yield* query(
    'update mail.session set swept_id = greatest(swept_id, cast($2 as bigint)) where id = $1',
    [first.mailbox, Math.max(...ids)],
  )
  return ids.length < due.length || due.length === MESSAGES_PER_STEP
}

// There is no index on the time: this is how much a step reads at most.
const READ_PER_STEP = 10_000

function dueAmongOldest(mailbox: MailboxId, until: number): Operation<{ id: number }[]> {
  return query(
    `select id from (select id, received_at from mail.message where mailbox = $1
       order by id limit ${READ_PER_STEP}) as oldest
     where received_at <= $2 order by id limit ${MESSAGES_PER_STEP}`,
    [mailbox, until],
  )
}

function oldestMessages(
  mailbox: MailboxId,
  most: number,
): Operation<{ id: number; received_at: number }[]> {
  return query('select id, received_at from mail.message where mailbox = $1 order by id limit $2', [
    mailbox,
    most,
  ])
}
