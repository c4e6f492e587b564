import { beforeEach, describe, expect, test } from 'vitest'
import { openAccount } from './account.ts'
import type { AccountOptions } from './options.ts'
import { asOwner, dovecotForTests } from './testing/dovecot-account.ts'
import {
  ANN,
  type ImapFixture,
  mailText,
  openImapFixture,
  testAccountAt,
} from './testing/fixture.ts'
import { openProxy } from './testing/proxy.ts'

const dovecot = dovecotForTests()

// Each test uses its own alias: mail of earlier tests is for others.
let X = ''
let tests = 0
beforeEach(() => {
  tests += 1
  X = `ann+test${tests}@mail.test`
})

/** The bodies of stored mail. */
const bodiesOf = (fixture: ImapFixture) =>
  fixture.mails.map(({ raw }) => raw.split('\r\n\r\n')[1]?.trim() ?? '').toSorted()

describe('a connection cut', () => {
  /** One mail waiting in each folder, one that arrives while idle. */
  async function fetchThree(
    fixture: ImapFixture,
    port: number,
    changes: Partial<AccountOptions> = {},
  ) {
    const { length } = fixture.mails
    const textOf = (label: string) => mailText({ To: X }, `${label} ${length}`)
    dovecot.server().deliver(ANN, textOf('inbox'))
    dovecot.server().deliver(ANN, textOf('spam'), { folder: 'Spam' })
    const account = openAccount(fixture.deps, testAccountAt(port, changes))
    await fixture.untilMails(length + 2)
    dovecot.server().deliver(ANN, textOf('later'))
    await fixture.untilMails(length + 3)
    await account.close()
    const fresh = ['inbox', 'later', 'spam'].map((label) => `${label} ${length}`)
    expect(bodiesOf(fixture)).toEqual([...new Set([...bodiesOf(fixture), ...fresh])].toSorted())
  }

  for (const [name, when, deleteAfterFetch] of [
    ['before each command', 'before', false],
    ['after each command', 'after', false],
    ['after each command, with delete_after_fetch', 'after', true],
  ] as const) {
    test(`${name}: each mail is stored once`, { timeout: 120_000 }, async () => {
      const proxy = await openProxy(dovecot.server().port)
      const fixture = await dovecot.ready([X])
      await dovecot.closeAll()
      await fetchThree(fixture, proxy.port, { deleteAfterFetch })
      const lines = proxy.state.lines.length
      expect(lines).toBeGreaterThan(12)
      for (let line = 1; line <= lines; line += 1) {
        proxy.cutAt({ line, when })
        await fetchThree(fixture, proxy.port, { deleteAfterFetch })
      }
      expect(fixture.mails).toHaveLength(3 * (lines + 1))
      await proxy.close()
    })
  }

  test('repeatedly is not reported while reconnecting succeeds', async () => {
    const proxy = await openProxy(dovecot.server().port)
    const fixture = openImapFixture([X])
    const account = openAccount(fixture.deps, testAccountAt(proxy.port))
    await fixture.untilHealth('ok')
    for (const hour of [1, 2, 3, 4]) {
      // Gmail closes every connection after about an hour.
      fixture.state.time += hour * 3_600_000
      proxy.drop()
      dovecot.server().deliver(ANN, mailText({ To: X }, `hour ${hour}`))
      await fixture.untilMails(hour)
      await proxy.until(({ lines }) => lines.at(-1) === 'IDLE')
    }
    await account.close()
    expect(fixture.reports.map(({ health }) => health)).toEqual(['starting', 'ok'])
    expect(proxy.state.connections).toBe(5)
    await proxy.close()
  })

  test('at once every time is reported', async () => {
    const proxy = await openProxy(dovecot.server().port)
    const fixture = openImapFixture([X])
    const account = openAccount(fixture.deps, testAccountAt(proxy.port))
    await fixture.untilHealth('ok')
    await proxy.close()
    expect(await fixture.untilHealth('failing')).toBe('the server cannot be reached (ECONNREFUSED)')
    await account.close()
  })
})

describe('a server outage', () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`by ${signal} is survived`, async () => {
      const fixture = await dovecot.ready([X])
      await dovecot.server().stop(signal)
      expect(await fixture.untilHealth('failing')).toContain('cannot be reached')
      dovecot.server().deliver(ANN, mailText({ To: X }, 'while it was down'))
      await dovecot.server().start()
      await fixture.untilMails(1)
      await fixture.untilHealth('ok')
      dovecot.server().deliver(ANN, mailText({ To: X }, 'after it'))
      await fixture.untilMails(2)
      expect(bodiesOf(fixture)).toEqual(['after it', 'while it was down'])
    })
  }

  test('with the connection left open is noticed by a command timeout', async () => {
    const proxy = await openProxy(dovecot.server().port)
    const fixture = openImapFixture([X])
    const timing = { commandTimeoutMs: 150, pollMs: 50 }
    const account = openAccount(fixture.deps, testAccountAt(proxy.port, { timing }))
    await fixture.untilHealth('ok')
    proxy.state.rewrite = () => ''
    dovecot.server().deliver(ANN, mailText({ To: X }))
    await fixture.untilHealth('failing')
    proxy.state.rewrite = (chunk) => chunk
    await fixture.untilMails(1)
    await account.close()
    await proxy.close()
  })
})

test('mail without a push is found by polling UIDNEXT', async () => {
  const proxy = await openProxy(dovecot.server().port)
  proxy.state.rewrite = (chunk) => chunk.replace(/^\* \d+ (EXISTS|RECENT)\r\n/gm, '')
  const fixture = openImapFixture([X])
  const account = openAccount(fixture.deps, testAccountAt(proxy.port, { timing: { pollMs: 30 } }))
  await fixture.untilHealth('ok')
  dovecot.server().deliver(ANN, mailText({ To: X }))
  await fixture.untilMails(1)
  expect(proxy.state.connections).toBe(1)
  await account.close()
  await proxy.close()
})

describe('new UIDs', () => {
  async function fixtureWithMail(name: string): Promise<ImapFixture> {
    const fixture = await dovecot.ready([X])
    fixture.state.oldest = new Date(Date.now() - 60_000)
    dovecot.server().deliver(ANN, mailText({ To: X }, 'before'), { folder: name })
    fixture.requestPoll()
    await fixture.untilMails(1)
    return fixture
  }

  for (const name of ['INBOX', 'Spam']) {
    test(`${name}: fetched again without duplicates`, async () => {
      const fixture = await fixtureWithMail(name)
      const { uidValidity } = fixture.folders.get(name) ?? {}
      await dovecot.server().stop()
      dovecot.server().resetUids(ANN, name)
      // Older than the stored mail, so its new UID is lower.
      const at = new Date(Date.now() - 30_000)
      dovecot.server().deliver(ANN, mailText({ To: X }, 'meanwhile'), { folder: name, at })
      await dovecot.server().start()
      await fixture.untilMails(2)
      dovecot.server().deliver(ANN, mailText({ To: X }, 'after'), { folder: name })
      fixture.requestPoll()
      await fixture.untilMails(3)
      expect(bodiesOf(fixture)).toEqual(['after', 'before', 'meanwhile'])
      expect(fixture.folders.get(name)?.uidValidity).not.toBe(uidValidity)
    })
  }

  test('a folder deleted and recreated while polled is fetched again', async () => {
    const fixture = await fixtureWithMail('Spam')
    await asOwner(dovecot.server().port, async (client) => {
      await client.mailboxDelete('Spam')
      await client.mailboxCreate('Spam')
    })
    dovecot.server().deliver(ANN, mailText({ To: X }, 'in the new one'), { folder: 'Spam' })
    fixture.requestPoll()
    await fixture.untilMails(2)
    expect(fixture.reports.map(({ health }) => health)).toEqual(['starting', 'ok'])
  })

  test('UIDs that restart under the same UIDVALIDITY are fetched again', async () => {
    const fixture = await fixtureWithMail('INBOX')
    const state = fixture.folders.get('INBOX')
    await dovecot.closeAll()
    fixture.folders.set('INBOX', { uidValidity: state?.uidValidity ?? 0, lastUid: 1_000_000 })
    dovecot.server().deliver(ANN, mailText({ To: X }, 'after'))
    dovecot.open(fixture)
    await fixture.untilMails(2)
    expect(bodiesOf(fixture)).toEqual(['after', 'before'])
  })
})

describe('a crash', () => {
  for (const moment of ['beforeCommit', 'afterCommit'] as const) {
    test(`${moment}: the mail is stored once after the restart`, async () => {
      const fixture = await dovecot.ready([X, 'ann+y@mail.test'])
      const crashed = Promise.withResolvers<void>()
      fixture.state[moment] = () => {
        crashed.resolve()
        throw new Error('the process is gone')
      }
      dovecot.server().deliver(ANN, mailText({ To: `${X}, ann+y@mail.test` }, 'one'))
      await crashed.promise
      await dovecot.closeAll()
      fixture.state[moment] = () => {}
      dovecot.open(fixture)
      dovecot.server().deliver(ANN, mailText({ To: X }, 'two'))
      await fixture.untilMails(3)
      await dovecot.closeAll()
      expect(bodiesOf(fixture)).toEqual(['one', 'one', 'two'])
      expect(fixture.mailsTo(X)).toHaveLength(2)
    })
  }

  test('a store failure is retried', async () => {
    const fixture = await dovecot.ready([X])
    let failures = 3
    fixture.state.beforeCommit = () => {
      failures -= 1
      if (failures >= 0) throw new Error('disk full')
    }
    dovecot.server().deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(1)
    await fixture.untilHealth('ok')
    expect(fixture.logLines.filter((line) => line.includes('disk full'))).toHaveLength(3)
  })
})

test('close leaves no connection, whether idle, connecting or waiting to retry', async () => {
  const proxy = await openProxy(dovecot.server().port)
  const fixture = openImapFixture([X])
  const account = openAccount(fixture.deps, testAccountAt(proxy.port))
  await fixture.untilHealth('ok')
  await account.close()
  await proxy.until(({ open }) => open === 0)
  await openAccount(fixture.deps, testAccountAt(proxy.port)).close()
  await openAccount(fixture.deps, testAccountAt(1)).close()
  await proxy.until(({ open }) => open === 0)
  await proxy.close()
})
