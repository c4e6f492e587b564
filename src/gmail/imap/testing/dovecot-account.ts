import { ImapFlow } from 'imapflow'
import { afterAll, afterEach, beforeAll } from 'vitest'
import {
  type Dovecot,
  type DovecotOptions,
  openDovecot,
} from '../../../../test/kit/gmail/dovecot.ts'
import { openAccount } from '../account.ts'
import type { AccountOptions } from '../options.ts'
import { ANN, type ImapFixture, openImapFixture, PASSWORD, testAccountAt } from './fixture.ts'

/** One Dovecot per test file; accounts are closed after each test. */
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
    if (!dovecot) throw new Error('opened before the first test')
    return dovecot
  }

  return {
    server,
    closeAll,
    /** Pass an earlier fixture to simulate a restart. */
    open(fixture: ImapFixture, changes: Partial<AccountOptions> = {}): void {
      open = [...open, openAccount(fixture.deps, testAccountAt(server().port, changes))]
    },
    /** Resolves after the first complete poll. */
    async ready(aliases: string[], changes: Partial<AccountOptions> = {}): Promise<ImapFixture> {
      const fixture = openImapFixture(aliases)
      this.open(fixture, changes)
      await fixture.untilHealth('ok')
      return fixture
    },
  }
}

/** The folders of an account as another IMAP client sees them. */
export async function folderContents(port: number, email: string = ANN) {
  return await asOwner(
    port,
    async (client) => ({
      INBOX: await contentsOf(client, 'INBOX'),
      Spam: await contentsOf(client, 'Spam'),
      Trash: await contentsOf(client, 'Trash'),
    }),
    email,
  )
}

/** Runs an operation with a second IMAP client. */
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

async function contentsOf(client: ImapFlow, folder: string) {
  const { exists } = await client.mailboxOpen(folder, { readOnly: true })
  if (exists === 0) return []
  const mails = await client.fetchAll('1:*', { uid: true, flags: true, source: true })
  return mails.map(({ uid, flags, source }) => ({
    uid,
    flags: [...(flags ?? [])].filter((flag) => flag !== '\\Recent'),
    raw: source?.toString('latin1') ?? '',
  }))
}
