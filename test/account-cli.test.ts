import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runMayflyUnder } from './kit/app/cli.ts'
import { type Dovecot, openDovecot } from './kit/gmail/dovecot.ts'
import { APP_PASSWORD, type GmailApp, startGmailApp } from './kit/gmail/gmail-app.ts'
import { post, request } from './kit/http/http-client.ts'
import { openSmtpSink } from './kit/smtp/smtp-sink.ts'
import { tempFolder } from './kit/store/stores.ts'

/** Runs one `mayfly account` command with this accounts file. */
const account = (folder: string, env: Record<string, string>, ...args: string[]) => {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  return runMayflyUnder(['env', ...settings], folder, 'account', ...args)
}

describe('with a running service', () => {
  let app: GmailApp
  beforeAll(async () => {
    app = await startGmailApp([{ email: 'joe@gmail.com' }, { email: 'ann@gmail.com' }])
    await app.setHealth('ann@gmail.com', 'failing', 'the server does not accept the login')
  })
  afterAll(() => app.stop())

  const run = (...args: string[]) =>
    account(app.folder, { MAYFLY_GMAIL_ACCOUNTS_FILE: app.accountsFile }, ...args)
  const offered = async () =>
    (await request(`${app.url}/api/domains`)).body['gmail_accounts'] as unknown[]

  test('list shows the state of each account, also as JSON, and no secrets', async () => {
    const { stdout, status } = await run('list')
    expect(status).toBe(0)
    expect(stdout).toMatch(/^\d+ +joe@gmail\.com +yes +ok +0$/m)
    expect(stdout).toMatch(
      /ann@gmail\.com +yes +failing +0 +the server does not accept the login$/m,
    )
    const json = await run('list', '--json')
    const [first] = JSON.parse(json.stdout) as { id: number; email: string }[]
    expect([first?.id, first?.email]).toStrictEqual([
      await app.idOf('joe@gmail.com'),
      'joe@gmail.com',
    ])
    expect(stdout + json.stdout).not.toMatch(new RegExp(APP_PASSWORD))
  })

  test('deactivate takes effect at once; activate restores the account under the same id', async () => {
    const before = await offered()
    expect((await run('deactivate', 'joe@gmail.com')).status).toBe(0)
    expect((await offered()).length).toBe(1)
    const id = String(await app.idOf('joe@gmail.com'))
    const refused = await post(`${app.url}/api/create-session`, { use_gmail: '1', gmail_id: id })
    expect(refused.body['code']).toBe('unknown_gmail_account')
    expect((await run('activate', id)).status).toBe(0)
    expect(await offered()).toStrictEqual(before)
  })

  // Other refusals: src/gmail/commands.test.ts and account-test.test.ts.
  test('a failed login exits with 1 and one line of error', async () => {
    const unreachable = await run('test', 'joe@gmail.com')
    expect([unreachable.status, unreachable.stdout]).toStrictEqual([1, ''])
    expect(unreachable.stderr).toMatch(/^joe@gmail\.com: the server cannot be reached.*\n$/)
  })
})

describe('test, with a real IMAP server', () => {
  const EMAIL = 'joey@mail.test'
  const folder = tempFolder()
  const file = join(folder.path, 'accounts.json')
  let dovecot: Dovecot
  let mailServer: Awaited<ReturnType<typeof openSmtpSink>>
  beforeAll(async () => {
    dovecot = await openDovecot({ users: { [EMAIL]: APP_PASSWORD } })
    mailServer = await openSmtpSink()
    written(APP_PASSWORD)
  })
  afterAll(async () => {
    await dovecot.close()
    await mailServer.close()
    folder.remove()
  })

  function written(password: string): void {
    const server = { host: '127.0.0.1', port: dovecot.port, tls: false }
    writeFileSync(file, JSON.stringify([{ email: EMAIL, password, ...server }]))
  }
  const run = (...args: string[]) =>
    account(
      folder.path,
      {
        MAYFLY_GMAIL_ACCOUNTS_FILE: file,
        MAYFLY_MAIL_OUT: mailServer.url,
        MAYFLY_MAIL_FROM: 'mayfly@sender.test',
        MAYFLY_BASE_URL: 'http://sender.test',
      },
      ...args,
    )

  test('a successful login shows folders and capabilities, even if no service has ever run', async () => {
    const { status, stdout, stderr } = await run('test', EMAIL)
    expect([status, stderr]).toStrictEqual([0, ''])
    expect(stdout).toMatch(/^Login +joey@mail\.test: accepted$/m)
    expect(stdout).toMatch(/^Folders +.*INBOX/m)
    expect(stdout).toMatch(/^IDLE +yes/m)
    expect(stdout).toMatch(/^Gmail ids +no/m)
  })

  test('a wrong password is reported as such, and not printed', async () => {
    written('canary-wrong-password')
    const { status, stdout, stderr } = await run('test', EMAIL)
    written(APP_PASSWORD)
    expect([status, stdout]).toStrictEqual([1, ''])
    expect(stderr).toMatch(/^joey@mail\.test: the server does not accept the login$/m)
    expect(stderr).not.toMatch(/canary/)
  })

  test('--send finds both test mails and names the headers that contain the alias', async () => {
    const delivered = (async () => {
      for (let count = 0; count < 2; count += 1) {
        const { to, raw } = mailServer.received[count] ?? (await mailServer.next())
        // Like Gmail: Delivered-To names the account, the other headers the alias that the sender used.
        const received = `Received: by mx.mail.test for <${to}>; now`
        dovecot.deliver(EMAIL, `Delivered-To: ${EMAIL}\r\n${received}\r\n${raw}`)
      }
    })()
    const { status, stdout, stderr } = await run('test', EMAIL, '--send')
    await delivered
    expect([status, stderr]).toStrictEqual([0, ''])
    const [dot = '', plus = ''] = mailServer.received.map(({ to }) => String(to))
    expect(dot).toMatch(/^j\.?o\.?e\.?y@mail\.test$/)
    expect(plus).toMatch(/^joey\+[a-z]+\.[a-z]+\d{3}@mail\.test$/)
    for (const alias of [dot, plus]) {
      expect(stdout, stdout).toContain(`${alias} `)
    }
    expect(stdout.match(/arrived in INBOX; found in To, Received$/gm)?.length).toBe(2)
  })
})
