import { afterEach, beforeEach } from 'vitest'
import { LEDGER_KEY } from '../../../test/kit/store/address-ledger.ts'
import {
  address,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  newSession,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import type { SyncMethods } from '../../base/operation.ts'
import { ledgerKey, openLedgerHmac } from '../../mail/rules/ledger.ts'
import { decideRecipient } from '../../mail/rules/recipient.ts'
import type { ledgerStarts } from '../operations.ts'
import type { OpenShareStore } from './shares.contract.ts'

type Methods = SyncMethods<typeof ledgerStarts>
type LedgerMethods = {
  [Name in keyof Methods]: (
    ...args: Parameters<Methods[Name]>
  ) => ReturnType<Methods[Name]> | Promise<ReturnType<Methods[Name]>>
}

export interface OpenLedgerStore extends OpenShareStore {
  /** Its methods, as two nodes call them at their start. */
  ledgers: readonly [LedgerMethods, LedgerMethods]
}

export const HMAC = openLedgerHmac(LEDGER_KEY)
export const OTHER = openLedgerHmac(ledgerKey(new Uint8Array(32).fill(9)))
const LIFETIMES = { sessionSeconds: 60, anonymousMaxSeconds: 60, maxSessionSeconds: 20 * 86_400 }
export const UNKNOWN_MS = 20 * DAY + COOLDOWN
const RECEIVE_LIMITS = {
  mailbox: { maxMessages: 5, maxBytes: 10_000 },
  poolMaxBytes: 20_000,
  ownMaxBytes: 20_000,
  maxMailBytes: 1_000,
}

/** A store for each test, and what the tests of the ledger do with it. */
export function ledgerFixture(open: () => Promise<OpenLedgerStore>) {
  const shared = {} as { opened: OpenLedgerStore; fixture: Fixture }
  beforeEach(async () => {
    shared.opened = await open()
    shared.fixture = await openFixture(shared.opened)
  })
  afterEach(() => shared.fixture.close())

  const start = { now: START, lifetimes: LIFETIMES, cooldownMs: COOLDOWN }
  const begin = (isNew: boolean, more = {}) =>
    shared.opened.ledgers[0].beginLedger({ ...start, isNew, ...more })
  const prepare = async (hmac = HMAC, more = {}) =>
    await shared.opened.ledgers[0].prepareLedger({ ...start, hmac, poolOff: false, ...more })
  const entries = async () =>
    (await shared.opened.query('select hmac from {mail}address_ledger')).map(({ hmac }) =>
      String(hmac),
    )
  const addEntries = (list: readonly string[]) =>
    shared.opened.execute(
      `insert into {mail}address_ledger values ${list.map((entry) => `('${entry}')`).join()}`,
    )

  /** The mailbox that mail is accepted for at RCPT, or why it is refused. */
  const rcpt = async (text: string, now = START) => {
    const facts = await shared.fixture.other.findRecipient(address(text))
    const found = decideRecipient(address(text), facts, { limits: RECEIVE_LIMITS, now, size: 1 })
    return 'refused' in found ? found.refused : found.mailbox
  }
  const create = (text: string, createdAt = START, isRandom = false) =>
    shared.fixture.store.createSession({
      ...newSession(text, { tokenHash: `token of ${text} ${createdAt}`, createdAt, lifeMs: HOUR }),
      isRandom,
    })
  return { shared, start, begin, prepare, entries, addEntries, rcpt, create }
}
