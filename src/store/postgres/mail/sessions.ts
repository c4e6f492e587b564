import { idBounds } from '../../../base/id.ts'
import { assignedLedger, LEDGER_COLUMNS, type LedgerRow } from '../../../mail/ledger-store.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import { isAddressReserved, type MailboxId, type Session } from '../../../mail/rules/session.ts'
import type { NewSession, Revival } from '../../../mail/store.ts'
import {
  isExtendable,
  revivedSession,
  ruleValues,
  SESSION_COLUMNS,
  type SessionRow,
  sessionOf,
  spanOf,
} from '../../../mail/store-rows.ts'
import { NO_RULES } from '../../../shared/address-rules.ts'
import { batchLookups } from '../connection/batching.ts'
import type { Connections, Db } from '../connection/connections.ts'
import { type PartitionCache, partitionAfterExtension, partitionFor } from './partition-key.ts'
import { withPartitions } from './partitions.ts'
import { movePartition } from './raw-mail.ts'

type PlacedRow = SessionRow & { bucket: number }

const COLUMNS = `${SESSION_COLUMNS}, bucket`
/** A session that is live at $1. */
export const LIVE = 'token_hash is not null and not cleared and expires_at > $1'

export function sessionReads(db: Db, partitions: PartitionCache) {
  return {
    // Every request looks up its session: alone, that would cost more than the rest of a poll.
    findSession: batchLookups(
      async (tokenHashes: readonly string[]): Promise<Map<string, Session>> => {
        const rows = await db.query<PlacedRow & { token_hash: string }>(
          `select ${COLUMNS} from mail.session where token_hash = any($1)`,
          [tokenHashes],
        )
        // A lookup is usually followed by a query for its mail.
        for (const { id, bucket } of rows) partitions.remember(String(id), String(bucket))
        return new Map(rows.map((row) => [row.token_hash, sessionOf(row)]))
      },
    ),
  }
}

export function sessionWrites(connections: Connections, hmac: LedgerHmac, random: () => number) {
  const add = sessionInsert(hmac, random)

  return {
    createSession: (session: NewSession): Promise<Session | undefined> =>
      retryOnConflict(async () => {
        const isNewFree = await isNewAddressFree(connections, session)
        const added = isNewFree ? await add(connections, session) : undefined
        return added ?? (await takeOverAddress(session, isNewFree))
      }),

    extendSession: (mailbox: MailboxId, expiresAt: Date, now: Date): Promise<Session | undefined> =>
      withPartitions(connections, async (db, used) => {
        const row = await lockSession(db, mailbox)
        if (!row || !isExtendable(row, now)) return undefined
        const bucket = partitionAfterExtension(row, expiresAt, now)
        used.add(bucket)
        if (bucket !== row.bucket)
          await movePartition(db, mailbox, { from: row.bucket, to: bucket })
        const [extended] = await db.query<SessionRow>(
          `update mail.session set expires_at = $2, bucket = $3, version = version + 1
           where id = $1 returning ${COLUMNS}`,
          [mailbox, expiresAt.getTime(), bucket],
        )
        return extended && sessionOf(extended)
      }),

    reviveSession: (revival: Revival): Promise<Session | undefined> =>
      retryOnConflict(() => connections.transaction((db) => revive(db, revival))),

    async endSession(mailbox: MailboxId, now: Date): Promise<boolean> {
      const ended = await connections.query(
        `update mail.session set expires_at = $2, token_hash = null, version = version + 1
         where id = $1 and token_hash is not null and expires_at > $2 returning id`,
        [mailbox, now.getTime()],
      )
      return ended.length === 1
    },
  }

  /** The old row loses its address and keeps mail that is not swept yet; the owner gets a new, empty mailbox. */
  async function revive(db: Db, revival: Revival) {
    const row = await lockSession(db, revival.mailbox)
    const session = row && revivedSession(row, revival)
    if (!session) return undefined
    await releaseAddress(db, row.id)
    // Ids continue from the old mailbox, so that a client's since_id stays valid even if the clock has stepped back.
    return withoutConflict(await add(db, session, row.last_id))
  }

  /** For an address that has or had a session: it is free when its reservation has ended. */
  async function takeOverAddress(
    { cooldownMs, ...session }: NewSession,
    isNewFree: boolean,
  ): Promise<Session | undefined> {
    const { address, createdAt } = session
    const find = `select ${COLUMNS} from mail.session where address = $1`
    const isHeld = (row: SessionRow | undefined) =>
      row ? isAddressReserved(spanOf(row), createdAt, cooldownMs) : !isNewFree
    // A reserved address is only read: no lock delays the mail of its session, no commit waits for the disk.
    const [holder] = await connections.query<SessionRow>(find, [address])
    if (isHeld(holder)) return undefined
    return await connections.transaction(async (db) => {
      const [previous] = await db.query<SessionRow>(`${find} for no key update`, [address])
      if (isHeld(previous)) return undefined
      if (previous) await releaseAddress(db, previous.id)
      return withoutConflict(await add(db, session))
    })
  }
}

/** Whether an address without a session is free: while the ledger is unknown, only a random one. */
async function isNewAddressFree(db: Db, { isRandom = false }: NewSession): Promise<boolean> {
  if (isRandom) return true
  const [row] = await db.query<LedgerRow>(`select ${LEDGER_COLUMNS} from mail.ledger_state`)
  return assignedLedger(row).unknownUntil === undefined
}

/** A concurrent transaction drew the same id, or took the address. */
class InsertConflict extends Error {
  constructor() {
    super('no free session id was found')
  }
}

/** The caller retries, from before the transaction. */
function withoutConflict(session: Session | undefined): Session {
  if (!session) throw new InsertConflict()
  return session
}

const MAX_TRIES = 20

async function retryOnConflict<T>(operation: () => Promise<T>, left = MAX_TRIES): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    if (!(error instanceof InsertConflict) || left === 1) throw error
    return await retryOnConflict(operation, left - 1)
  }
}

function sessionInsert(hmac: LedgerHmac, random: () => number) {
  /** Undefined if its address, its token or the drawn id exists. */
  return async (
    db: Db,
    session: Omit<NewSession, 'cooldownMs'>,
    lastId = 0,
  ): Promise<Session | undefined> => {
    const { address, tokenHash, keyId = null, accountId = null, createdAt, expiresAt } = session
    const { step, least } = idBounds(createdAt, random())
    const [row] = await db.query<SessionRow>(
      `with made as (
         insert into mail.session (id, address, token_hash, key_id, account_id, created_at,
           expires_at, bucket, last_id, only_from, max_messages)
         select greatest(coalesce(max(id), 0) + $1, $2), $3, $4, $5, $6::integer, $7::bigint,
           $8::bigint, $9::integer, $10::bigint, $12, $13::integer
         from mail.session
         on conflict do nothing
         returning ${COLUMNS}
       ), noted as (
         insert into mail.address_ledger (hmac) select $11 from made on conflict do nothing
       )
       select ${COLUMNS} from made`,
      [
        step,
        least,
        address,
        tokenHash,
        keyId,
        accountId,
        createdAt.getTime(),
        expiresAt.getTime(),
        partitionFor(expiresAt, createdAt),
        lastId,
        hmac.of(address),
        ...ruleValues(session.rules ?? NO_RULES),
      ],
    )
    return row && sessionOf(row)
  }
}

async function lockSession(db: Db, mailbox: MailboxId): Promise<PlacedRow | undefined> {
  const [row] = await db.query<PlacedRow>(
    `select ${COLUMNS} from mail.session where id = $1 for no key update`,
    [mailbox],
  )
  return row
}

async function releaseAddress(db: Db, mailbox: MailboxId): Promise<void> {
  await db.query('update mail.session set address = null, token_hash = null where id = $1', [
    mailbox,
  ])
}
