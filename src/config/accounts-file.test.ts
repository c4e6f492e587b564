import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { accountsFile } from './files.ts'

const folder = mkdtempSync(join(tmpdir(), 'mayfly-accounts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function written(content: unknown): string {
  const path = join(folder, 'accounts.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const JOE = { email: 'Joe@gmail.com', password: 'canary-password' }
const CLIENT = { client_id: 'id', client_secret: 'canary-secret', refresh_token: 'canary-token' }

test('no file, no accounts', () => {
  expect(accountsFile('')).toEqual([])
})

test('what a Gmail account needs is its address and a password', () => {
  expect(accountsFile(written([JOE]))).toEqual([
    {
      email: 'joe@gmail.com',
      host: 'imap.gmail.com',
      port: 993,
      tls: true,
      login: { password: 'canary-password' },
      dots: false,
      active: true,
      masked: false,
      deleteAfterFetch: false,
    },
  ])
})

test('an account elsewhere names its server, and may log in by OAuth', () => {
  const ann = { email: 'ann@mail.test', oauth: CLIENT, host: 'imap.mail.test', port: 1993 }
  const [account] = accountsFile(written([{ ...ann, dots: true, masked: true }]))
  expect(account).toMatchObject({ host: 'imap.mail.test', port: 1993, dots: true, masked: true })
  expect(account?.login).toEqual({
    oauth: {
      clientId: 'id',
      clientSecret: 'canary-secret',
      refreshToken: 'canary-token',
      tokenUrl: 'https://oauth2.googleapis.com/token',
    },
  })
})

for (const [name, content, fault] of [
  ['no JSON', '[{"password":"canary-password"', /must hold a JSON list/],
  ['no list', {}, /must hold a JSON list/],
  ['a word', ['joe'], /account 1 is no object/],
  ['a slip in a name', [{ ...JOE, pasword: 'x' }], /account 1 has a field pasword/],
  ['no address', [{ password: 'x' }], /account 1: email/],
  ['an alias', [{ ...JOE, email: 'joe+me@gmail.com' }], /account 1: email is no address/],
  ['a name behind which no tag fits', [{ ...JOE, email: `${'j'.repeat(56)}@gmail.com` }], /55/],
  ['no server that we know', [{ ...JOE, email: 'joe@mail.test' }], /account 1: host/],
  ['no way to log in', [{ email: 'joe@gmail.com' }], /give password or oauth/],
  ['two ways', [{ ...JOE, oauth: CLIENT }], /one of the two/],
  ['half a client', [{ email: JOE.email, oauth: { client_id: 'x' } }], /oauth: client_secret/],
  [
    'tokens by an open line',
    [{ email: JOE.email, oauth: { ...CLIENT, token_url: 'http://tokens.example/t' } }],
    /account 1: oauth: token_url is no https address/,
  ],
  [
    'a token address that is none',
    [{ email: JOE.email, oauth: { ...CLIENT, token_url: 'x' } }],
    /token_url/,
  ],
  ['an open line to elsewhere', [{ ...JOE, tls: false }], /tls may be false only/],
  ['a port that is none', [{ ...JOE, port: 99_999 }], /port must be a whole number/],
  ['the same account twice', [JOE, { ...JOE, email: 'JOE@gmail.com' }], /account 2 stands/],
] as const) {
  test(`${name} is refused, and no secret is quoted`, () => {
    expect(() => accountsFile(written(content))).toThrow(fault)
    try {
      accountsFile(written(content))
    } catch (error) {
      expect(String(error)).not.toMatch(/canary/)
    }
  })
}
