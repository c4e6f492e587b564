import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDovecot } from '../../../test/kit/gmail/dovecot.ts'
import { program } from '../../../test/kit/programs/programs.ts'
import { tempFolder } from '../../../test/kit/store/stores.ts'
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

/** Everything the operator can see. */
function visibleText(fixture: ImapFixture): string {
  return JSON.stringify([fixture.reports, fixture.logLines])
}

describe('a password', () => {
  test('that is wrong is reported, and the right one works afterwards', async () => {
    const dovecot = await openDovecot({ users: { [ANN]: 'another' } })
    closing.push(dovecot.close)
    const fixture = fetchFrom(dovecot.port)
    expect(await fixture.untilHealth('failing')).toBe('the server does not accept the login')
    dovecot.setPassword(ANN, PASSWORD)
    await fixture.untilHealth('ok')
    dovecot.deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(1)
    expect(visibleText(fixture)).not.toContain(PASSWORD)
  })

  test('that is wrong does not affect other accounts', async () => {
    const dovecot = await openDovecot({ users: { [ANN]: PASSWORD } })
    closing.push(dovecot.close)
    const wrong = fetchFrom(dovecot.port, { login: { password: 'wrong' } })
    const right = fetchFrom(dovecot.port)
    await Promise.all([wrong.untilHealth('failing'), right.untilHealth('ok')])
  })
})

describe('TLS', () => {
  test('requires a trusted certificate', async () => {
    const folder = tempFolder()
    const [cert, key] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')]
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    const named = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    execFileSync(program('openssl'), [...made, ...named, '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    })
    const dovecot = await openDovecot({ users: { [ANN]: PASSWORD }, tls: { cert, key } })
    closing.push(async () => folder.remove(), dovecot.close)

    const untrusted = fetchFrom(dovecot.port, { tls: true, host: 'localhost' })
    expect(await untrusted.untilHealth('failing')).toBe(
      'the server’s certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
    )
    const before = getCACertificates()
    closing.push(async () => setDefaultCACertificates(before))
    setDefaultCACertificates([...before, readFileSync(cert, 'utf8')])
    const other = fetchFrom(dovecot.port, { tls: true, host: '127.0.0.1' })
    expect(await other.untilHealth('failing')).toContain('ERR_TLS_CERT_ALTNAME_INVALID')
    const fixture = fetchFrom(dovecot.port, { tls: true, host: 'localhost' })
    await fixture.untilHealth('ok')
    const plain = fetchFrom(dovecot.port, { tls: false, timing: { commandTimeoutMs: 300 } })
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

  test('logs in with an access token and reuses it until it expires', async () => {
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
    for (const secret of secrets) expect(visibleText(fixture)).not.toContain(secret)
  })

  test('refreshes the token shortly before it expires', async () => {
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

  test('refreshes a token that was revoked early', async () => {
    const fixture = fetchFrom(dovecot.port, login())
    await fixture.untilHealth('ok')
    tokens.revokeTokens()
    await dovecot.stop('SIGKILL')
    await dovecot.start()
    dovecot.deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(1)
    expect(tokens.state.tokens.size).toBe(2)
    expect(fixture.reports.map(({ reason }) => reason).join()).not.toContain('login')
  })

  for (const [name, status, body, words] of [
    [
      'revoked by the owner',
      400,
      '{"error":"invalid_grant"}',
      'must authorize access again (invalid_grant)',
    ],
    [
      'of an unknown client',
      401,
      '{"error":"invalid_client"}',
      'client id and secret (invalid_client)',
    ],
    ['with a token server that fails', 500, 'oops', 'the token server responds with status 500'],
    [
      'refused with an unknown error code',
      400,
      `{"error":"${REFRESH_TOKEN}"}`,
      'the token server responds with status 400',
    ],
    ['and a response without a token', 200, '{}', 'the token server returns no access token'],
    [
      'and an access token with a line break',
      200,
      '{"access_token":"a\\r\\nb"}',
      'returns no access token',
    ],
    ['and a response that is not JSON', 200, '<html>', 'returns no access token'],
  ] as const) {
    test(`a refresh token ${name} is reported`, async () => {
      tokens.state.refuse = { status, body }
      const fixture = fetchFrom(dovecot.port, login())
      expect(await fixture.untilHealth('failing')).toContain(words)
      tokens.state.refuse = undefined
      await fixture.untilHealth('ok')
      for (const secret of secrets) expect(visibleText(fixture)).not.toContain(secret)
    })
  }

  test('an unreachable token server is reported', async () => {
    const oauth = { ...tokens.oauth, tokenUrl: 'http://127.0.0.1:1/token' }
    const fixture = fetchFrom(dovecot.port, { login: { oauth } })
    expect(await fixture.untilHealth('failing')).toBe('the token server cannot be reached')
  })

  test('a fresh token refused by the mail server is tried once', async () => {
    const other = await openTokenServer('bob@mail.test')
    closing.push(other.close)
    const fixture = fetchFrom(dovecot.port, { login: { oauth: other.oauth } })
    expect(await fixture.untilHealth('failing')).toBe('the server does not accept the login')
    expect(other.state.tokens.size).toBe(1)
  })
})

describe('testAccount', () => {
  test('reports folders and capabilities', async () => {
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

  test('reports what is wrong', async () => {
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
