import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Dovecot, type DovecotOptions, openDovecot } from '../../../test/dovecot.ts'
import { openAccount } from '../account.ts'
import type { AccountOptions } from '../options.ts'
import { ANN, PASSWORD, testAccountAt } from './account.ts'
import { type ImapFixture, openImapFixture } from './fixture.ts'

/** For one test file: a Dovecot, and accounts of it that are closed after each test. */
export function dovecotForTests(options: Partial<DovecotOptions> = {}) {
  let dovecot: Dovecot | undefined
  let open: { close(): Promise<void> }[] = []

  async function closeAll(): Promise<void> {
    await Promise.all(open.splice(0).map((one) => one.close()))
  }

  beforeAll(async () => {
    dovecot = await openDovecot({ users: { [ANN]: PASSWORD }, ...options })
  })
  afterEach(closeAll)
  afterAll(() => dovecot?.close())

  function server(): Dovecot {
    if (!dovecot) throw new Error('it is opened before the first test')
    return dovecot
  }

  return {
    server,
    closeAll,
    /** Fetches for a house; that of an earlier call where the house was closed and opens again. */
    open(fixture: ImapFixture, changes: Partial<AccountOptions> = {}): void {
      open = [...open, openAccount(fixture.deps, testAccountAt(server().port, changes))]
    },
    /** A house that has seen all there is so far. */
    async ready(aliases: string[], changes: Partial<AccountOptions> = {}): Promise<ImapFixture> {
      const fixture = openImapFixture(aliases)
      this.open(fixture, changes)
      await fixture.untilHealth('ok')
      return fixture
    },
  }
}
