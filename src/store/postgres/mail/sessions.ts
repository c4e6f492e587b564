import { type Operation, query, type Value } from '../../../base/operation.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import type { Session } from '../../../mail/rules/session.ts'
import {
  INSERT_SESSION,
  isOneStatement,
  SessionConflict,
  sessionEnds,
  sessionWrites,
} from '../../../mail/session-store.ts'
import type { MailStore } from '../../../mail/store.ts'
import { SESSION_COLUMNS, type SessionRow, sessionOf } from '../../../mail/store-rows.ts'
import { batchLookups } from '../connection/batching.ts'
import type { Connections, Db } from '../connection/connections.ts'
import { asyncMethods, runOperation, transactionMethods } from '../connection/operations.ts'
import { withPartitions } from './partitions.ts'
import { keepRaws } from './raw-mail.ts'

export function sessionReads(db: Db) {
  return {
    // Every request looks up its session: alone, that would cost more than the rest of a poll.
    findSession: batchLookups(
      async (tokenHashes: readonly string[]): Promise<Map<string, Session>> => {
        const rows = await db.query<SessionRow & { token_hash: string }>(
          `select ${SESSION_COLUMNS} from mail.session where token_hash = any($1)`,
          [tokenHashes],
        )
        return new Map(rows.map((row) => [row.token_hash, sessionOf(row)]))
      },
    ),
  }
}

export function postgresSessionWrites(
  connections: Connections,
  hmac: LedgerHmac,
  random: () => number,
) {
  const { addSession, extendSession, ...others } = sessionWrites({
    ...{ hmac, random, insertSession, keepRaws },
  })
  const { takeOverAddress, reviveSession } = transactionMethods(connections, others)

  return {
    ...asyncMethods(connections, sessionEnds),
    createSession: (session) =>
      retryOnConflict(
        async () =>
          (isOneStatement(session)
            ? await runOperation(connections, addSession(session))
            : undefined) ?? (await takeOverAddress(session)),
      ),
    reviveSession: (revival) => retryOnConflict(() => reviveSession(revival)),
    extendSession: (...args) =>
      withPartitions(connections, (db) => runOperation(db, extendSession(...args))),
  } satisfies Partial<MailStore>
}

/** In one statement, and so in one round trip and commit. */
function insertSession(values: readonly Value[], entry: string): Operation<SessionRow[]> {
  return query(
    `with made as (${INSERT_SESSION}), noted as (
       insert into mail.address_ledger (hmac) select $16 from made on conflict do nothing
     )
     select ${SESSION_COLUMNS} from made`,
    [...values, entry],
  )
}

const MAX_TRIES = 20

async function retryOnConflict<T>(operation: () => Promise<T>, left = MAX_TRIES): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    if (!(error instanceof SessionConflict) || left === 1) throw error
    return await retryOnConflict(operation, left - 1)
  }
}
