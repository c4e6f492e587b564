import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDovecot } from '../../test/support/dovecot.ts'
import { tempFolder } from '../../test/support/stores.ts'
import { openAccount, testAccount } from './account.ts'
import type { AccountOptions } from './options.ts'
import {
  ANN,
  type ImapFixture,
  mailText,
  openImapFixture,
  PASSWORD,
  testAccountAt,
} from './testing/fixture.ts'
import { CLIENT_SECRET, openTokenServer, REFRESH_TOKEN } from './testing/token-server.ts'

const X = 'ann+x@mail.test'
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function fetchFrom(port: number, changes: Partial<AccountOptions> = {}): ImapFixture {
  const fixture = openImapFixture([X])
  closing.push(openAccount(fixture.deps, testAccountAt(port, changes)).close)
  return fixture
}

/** All that the operator could read of it. */
function told(fixture: ImapFixture): string {
  return JSON.stringify([fixture.reports, fixture.lines])
}

describe('a password', () => {
  test('that is wrong is told in words, and the right one is taken when it comes', async () => {
    const dovecot = await openDovecot({ users: { [ANN]: 'another' } })
    closing.push(dovecot.close)
    const fixture = fetchFrom(dovecot.port)
    expect(await fixture.untilHealth('failing')).toBe('the server does not accept the login')
    dovecot.setPassword(ANN, PASSWORD)
    await fixture.untilHealth('ok')
    dovecot.deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(1)
    expect(told(fixture)).not.toContain(PASSWORD)
  })

  test('of one account being wrong is nothing to the others', async () => {
    const dovecot = await openDovecot({ users: { [ANN]: PASSWORD } })
    closing.push(dovecot.close)
    const wrong = fetchFrom(dovecot.port, { login: { password: 'wrong' } })
    const right = fetchFrom(dovecot.port)
    await Promise.all([wrong.untilHealth('failing'), right.untilHealth('ok')])
  })
})

describe('TLS', () => {
  test('is spoken where the certificate is trusted, and not where it is not', async () => {
    const folder = tempFolder()
    const [cert, key] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')]
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    const named = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    execFileSync('openssl', [...made, ...named, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    const dovecot = await openDovecot({ users: { [ANN]: PASSWORD }, tls: { cert, key } })
    closing.push(async () => folder.remove(), dovecot.close)

    const stranger = fetchFrom(dovecot.port, { tls: true, host: 'localhost' })
    expect(await stranger.untilHealth('failing')).toBe(
      'the server’s certificate is not to be trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
    )
    setDefaultCACertificates([...getCACertificates(), readFileSync(cert, 'utf8')])
    const other = fetchFrom(dovecot.port, { tls: true, host: '127.0.0.1' })
    expect(await other.untilHealth('failing')).toContain('ERR_TLS_CERT_ALTNAME_INVALID')
    const fixture = fetchFrom(dovecot.port, { tls: true, host: 'localhost' })
    await fixture.untilHealth('ok')
    const plain = fetchFrom(dovecot.port, { tls: false, tempo: { answer: 300 } })
    await plain.untilHealth('failing')
  })
})

describe('OAuth2', () => {
  type Tokens = Awaited<ReturnType<typeof openTokenServer>>
  let tokens: Tokens
  let dovecot: Awaited<ReturnType<typeof openDovecot>>
  const login = () => ({ login: { oauth: tokens.oauth } })
  const secrets = [CLIENT_SECRET, REFRESH_TOKEN, 'canary-access-token']

  beforeEach(async () => {
    tokens = await openTokenServer(ANN)
    const { introspectionUrl } = tokens
    dovecot = await openDovecot({ users: { [ANN]: PASSWORD }, introspectionUrl })
    closing.push(tokens.close, dovecot.close)
  })

  test('logs in with an access token, and asks for no second one while that lives', async () => {
    const fixture = fetchFrom(dovecot.port, login())
    await fixture.untilHealth('ok')
    dovecot.deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(1)
    await dovecot.stop('SIGKILL')
    await dovecot.start()
    dovecot.deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(2)
    expect(tokens.state.tokens.size).toBe(1)
    expect(tokens.state.introspections).toBeGreaterThan(1)
    for (const secret of secrets) expect(told(fixture)).not.toContain(secret)
  })

  test('gets a new one shortly before the end of the old, and nobody notices', async () => {
    const fixture = fetchFrom(dovecot.port, login())
    await fixture.untilHealth('ok')
    fixture.state.time += (3_600 - 119) * 1_000
    await dovecot.stop('SIGKILL')
    await dovecot.start()
    dovecot.deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(1)
    expect(tokens.state.tokens.size).toBe(2)
    expect(fixture.reports.map(({ reason }) => reason).join()).not.toContain('login')
  })

  test('gets a new one when the old one ended before its time, and nobody notices', async () => {
    const fixture = fetchFrom(dovecot.port, login())
    await fixture.untilHealth('ok')
    tokens.endTokens()
    await dovecot.stop('SIGKILL')
    await dovecot.start()
    dovecot.deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(1)
    expect(tokens.state.tokens.size).toBe(2)
    expect(fixture.reports.map(({ reason }) => reason).join()).not.toContain('login')
  })

  for (const [name, status, body, words] of [
    [
      'that the owner took back',
      400,
      '{"error":"invalid_grant"}',
      'must agree again (invalid_grant)',
    ],
    [
      'of an unknown client',
      401,
      '{"error":"invalid_client"}',
      'client id and secret (invalid_client)',
    ],
    ['while the token server is broken', 500, 'oops', 'the token server answers 500'],
    [
      'that is refused in strange words',
      400,
      `{"error":"${REFRESH_TOKEN}"}`,
      'the token server answers 400',
    ],
    ['answered without a token', 200, '{}', 'the token server gives no access token'],
    [
      'answered with a line break in it',
      200,
      '{"access_token":"a\\r\\nb"}',
      'gives no access token',
    ],
    ['answered with nonsense', 200, '<html>', 'gives no access token'],
  ] as const) {
    test(`a refresh token ${name} is told in words`, async () => {
      tokens.state.refuse = { status, body }
      const fixture = fetchFrom(dovecot.port, login())
      expect(await fixture.untilHealth('failing')).toContain(words)
      tokens.state.refuse = undefined
      await fixture.untilHealth('ok')
      for (const secret of secrets) expect(told(fixture)).not.toContain(secret)
    })
  }

  test('a token server that is not there is told in words', async () => {
    const oauth = { ...tokens.oauth, tokenUrl: 'http://127.0.0.1:1/token' }
    const fixture = fetchFrom(dovecot.port, { login: { oauth } })
    expect(await fixture.untilHealth('failing')).toBe('the token server cannot be reached')
  })

  test('a fresh token that the mail server refuses is tried once, not twice', async () => {
    const other = await openTokenServer('bob@mail.test')
    closing.push(other.close)
    const fixture = fetchFrom(dovecot.port, { login: { oauth: other.oauth } })
    expect(await fixture.untilHealth('failing')).toBe('the server does not accept the login')
    expect(other.state.tokens.size).toBe(1)
  })
})

describe('a login to try the account', () => {
  test('tells the folders and what the server can do', async () => {
    const dovecot = await openDovecot({ users: { [ANN]: PASSWORD } })
    closing.push(dovecot.close)
    expect(await testAccount(testAccountAt(dovecot.port))).toEqual({
      ok: true,
      folders: [
        { name: 'INBOX', use: '\\Inbox' },
        { name: 'Spam', use: '\\Junk' },
        { name: 'Trash', use: '\\Trash' },
      ],
      spam: 'Spam',
      trash: 'Trash',
      idle: true,
      gmail: false,
    })
  })

  test('tells in words what is wrong', async () => {
    const dovecot = await openDovecot({ users: { [ANN]: 'another' } })
    closing.push(dovecot.close)
    expect(await testAccount(testAccountAt(dovecot.port))).toEqual({
      ok: false,
      reason: 'the server does not accept the login',
    })
    expect(await testAccount(testAccountAt(1))).toEqual({
      ok: false,
      reason: 'the server cannot be reached (ECONNREFUSED)',
    })
  })
})
