import type { Address } from '../base/address.ts'
import { type Operation, query } from '../base/operation.ts'
import { domainReads } from './domain-store.ts'
import {
  HMAC_LENGTH,
  knownAgainAt,
  type LedgerHmac,
  type LedgerLimits,
  type LedgerReason,
  type LedgerState,
} from './rules/ledger.ts'

export interface LedgerRow {
  unknown_until: number | null
  reason: LedgerState['reason']
  pruned: boolean | number
}

export const LEDGER_COLUMNS = 'unknown_until, reason, pruned'

// Without a state, no address is known: a start of the service inserts it.
const NEVER = new Date(8.64e15)

/** What holds for an address without a session that is assigned. */
export function assignedLedger(row: LedgerRow | undefined): Pick<LedgerState, 'unknownUntil'> {
  if (!row) return { unknownUntil: NEVER }
  const { unknown_until: until } = row
  return { unknownUntil: until === null ? undefined : new Date(until) }
}

/** What holds for one that mail is sent to: a pruned ledger knows none of them. */
export function recipientLedger(row: LedgerRow | undefined): Pick<LedgerState, 'unknownUntil'> {
  return row?.pruned ? { unknownUntil: NEVER } : assignedLedger(row)
}

export const ledgerReads = {
  /** What is known about the ledger of addresses; undefined before the first start of the service. */
  *readLedger(): Operation<LedgerState | undefined> {
    const [row] = yield* query<LedgerRow>(`select ${LEDGER_COLUMNS} from mail.ledger_state`)
    return row && { ...assignedLedger(row), reason: row.reason, pruned: Boolean(row.pruned) }
  },
}

export const ledgerWrites = {
  *saveLedger({ unknownUntil, reason }: Omit<LedgerState, 'pruned'>): Operation<void> {
    yield* query(
      `insert into mail.ledger_state (id, unknown_until, reason, pruned) values (1, $1, $2, false)
       on conflict (id) do update set unknown_until = excluded.unknown_until, reason = excluded.reason`,
      [unknownUntil?.getTime(), reason],
    )
  },
}

export interface LedgerStart extends LedgerLimits {
  now: Date
}

/** Each in one transaction, before the service reads or changes the ledger. */
export const ledgerTransactions = {
  /**
   * For a database without a state. `isNew`: no service has run with the shop, so nothing was lost, unless there are entries: only a
   * restore leaves them without a state, and it may have ended before the shop was there. Returns whether it is lost.
   */
  *beginLedger({ isNew, now, ...limits }: LedgerStart & { isNew: boolean }): Operation<boolean> {
    const until = yield* knownAgain({ now, ...limits })
    const entries = yield* query('select 1 from mail.address_ledger limit 1')
    const isLost = !isNew || entries.length > 0
    const added = yield* query(
      `insert into mail.ledger_state (id, unknown_until, reason, pruned) values (1, $1, $2, false)
       on conflict do nothing returning id`,
      isLost ? [until.getTime(), 'lost'] : [null, ''],
    )
    return isLost && added.length > 0
  },

  /** Makes every entry one of this key. */
  *prepareLedger({
    hmac,
    poolOff,
    now,
    ...limits
  }: LedgerStart & { hmac: LedgerHmac; poolOff: boolean }): Operation<LedgerState> {
    // Other nodes wait.
    const [row] = yield* query<LedgerRow & { converted: boolean | number }>(
      `select ${LEDGER_COLUMNS}, converted from mail.ledger_state for update`,
    )
    if (!row) throw new Error('the state of the ledger is missing')
    const { unknownUntil } = assignedLedger(row)
    const lost = yield* replaceEntries(hmac, Boolean(row.converted))
    const isPoolBack = Boolean(row.pruned) && !poolOff
    yield* query('update mail.ledger_state set pruned = $1, converted = true', [poolOff])
    if (!lost && !isPoolBack) return { unknownUntil, reason: row.reason, pruned: poolOff }
    yield* addSessions(hmac)
    const until = yield* knownAgain({ now, ...limits })
    const latest = new Date(Math.max(until.getTime(), unknownUntil?.getTime() ?? 0))
    const reason = lost ?? 'pool'
    yield* ledgerWrites.saveLedger({ unknownUntil: latest, reason })
    return { unknownUntil: latest, reason, pruned: poolOff }
  },
}

/** The newest session counts as well: a clock that is behind must not shorten the time. */
function* knownAgain({ now, ...limits }: LedgerStart): Operation<Date> {
  const [newest] = yield* query<{ created_at: number }>(
    'select created_at from mail.session order by id desc limit 1',
  )
  const from = new Date(Math.max(now.getTime(), newest?.created_at ?? 0))
  return knownAgainAt(from, limits, yield* domainReads.listDomains())
}

/** Replaces entries of another key, which are lost, and hashes, which are converted. Returns why entries were lost, if any were. */
function* replaceEntries(
  hmac: LedgerHmac,
  isConverted: boolean,
): Operation<LedgerReason | undefined> {
  const [check] = yield* query('select 1 from mail.address_ledger where hmac = $1', [hmac.check])
  if (check && isConverted) return undefined
  const lost = check ? undefined : yield* whyLost(isConverted)
  if (lost) yield* query(`delete from mail.address_ledger where length(hmac) = ${HMAC_LENGTH}`)
  yield* convertHashes(hmac)
  yield* add([hmac.check])
  return lost
}

/** Without its check value, a ledger lacks nothing only if it was never converted. */
function* whyLost(isConverted: boolean): Operation<LedgerReason | undefined> {
  const [foreign] = yield* query(
    `select 1 from mail.address_ledger where length(hmac) = ${HMAC_LENGTH} limit 1`,
  )
  if (foreign) return 'secret'
  return isConverted ? 'lost' : undefined
}

const BATCH = 5_000

/** HMACs of the hashes that versions up to 0.3 kept: the ledger lacks nothing afterwards. */
function* convertHashes(hmac: LedgerHmac): Operation<void> {
  let hashes = ['']
  while (hashes.length > 0) {
    const rows = yield* query<{ hash: string }>(
      `select hmac as hash from mail.address_ledger
       where hmac > $1 and length(hmac) <> ${HMAC_LENGTH} order by hmac limit ${BATCH}`,
      [hashes.at(-1)],
    )
    hashes = rows.map(({ hash }) => hash)
    yield* query('delete from mail.address_ledger where hmac = any($1::text[])', [hashes])
    yield* add(hashes.map(hmac.ofHash))
  }
}

/** The addresses that the store knows from elsewhere. */
function* addSessions(hmac: LedgerHmac): Operation<void> {
  let last: { id: number } | undefined = { id: 0 }
  while (last) {
    const rows: { id: number; address: Address }[] = yield* query(
      `select id, address from mail.session where id > $1 and address is not null
       order by id limit ${BATCH}`,
      [last.id],
    )
    yield* add(rows.map(({ address }) => hmac.of(address)))
    last = rows.at(-1)
  }
}

function* add(entries: readonly string[]): Operation<void> {
  yield* query(
    `insert into mail.address_ledger (hmac) select item from unnest($1::text[]) as item where true
     on conflict do nothing`,
    [entries],
  )
}

/** For the sweep, which does not trust a clock that has jumped ahead. There is never more to do. */
export function* endUnknownLedger(now: Date): Operation<boolean> {
  yield* query(
    `update mail.ledger_state set unknown_until = null, reason = '' where unknown_until <= $1`,
    [now.getTime()],
  )
  return false
}

const PRUNED_PER_STEP = 1_000

/** While the pool is off, nobody could read mail for an address of before. True if there may be more to delete. */
export function* pruneLedger({ check }: Pick<LedgerHmac, 'check'>): Operation<boolean> {
  const rows = yield* query<{ hmac: string }>(
    `select hmac from mail.address_ledger where hmac <> $1 limit ${PRUNED_PER_STEP}`,
    [check],
  )
  if (rows.length === 0) return false
  // A node on which the pool is on may have started since: an address that is not in the ledger may have belonged to a session.
  // Changed or not, the row is locked: a node that starts now waits, and adds what is deleted here.
  yield* query('update mail.ledger_state set pruned = true')
  const entries = rows.map(({ hmac }) => hmac)
  yield* query('delete from mail.address_ledger where hmac = any($1::text[])', [entries])
  return rows.length === PRUNED_PER_STEP
}
