import { ImapFlow } from 'imapflow'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Dovecot, type DovecotOptions, openDovecot } from '../../../test/support/dovecot.ts'
import { openAccount } from '../account.ts'
import type { AccountOptions } from '../options.ts'
import { ANN, type ImapFixture, openImapFixture, PASSWORD, testAccountAt } from './fixture.ts'

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

/** What is in an account's folders, seen by somebody else over IMAP. */
export async function viewOf(port: number, email: string = ANN) {
  return await asOwner(
    port,
    async (client) => ({
      INBOX: await contentOf(client, 'INBOX'),
      Spam: await contentOf(client, 'Spam'),
      Trash: await contentOf(client, 'Trash'),
    }),
    email,
  )
}

/** Does something in the account as its owner would with a mail program. */
export async function asOwner<T>(
  port: number,
  operation: (client: ImapFlow) => Promise<T>,
  email: string = ANN,
): Promise<T> {
  const client = new ImapFlow({
    host: '127.0.0.1',
    port,
    secure: false,
    auth: { user: email, pass: PASSWORD },
    logger: false,
    disableAutoIdle: true,
  })
  await client.connect()
  try {
    return await operation(client)
  } finally {
    await client.logout()
  }
}

async function contentOf(client: ImapFlow, folder: string) {
  const { exists } = await client.mailboxOpen(folder, { readOnly: true })
  if (exists === 0) return []
  const mails = await client.fetchAll('1:*', { uid: true, flags: true, source: true })
  return mails.map(({ uid, flags, source }) => ({
    uid,
    flags: [...(flags ?? [])].filter((flag) => flag !== '\\Recent'),
    raw: source?.toString('latin1') ?? '',
  }))
}
