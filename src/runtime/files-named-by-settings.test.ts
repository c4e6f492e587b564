import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { accountsFile } from '../gmail/settings.ts'
import { plansFile } from '../keys/settings.ts'
import { PLANS } from '../shared/plan.ts'
import { stripePrices } from '../shop/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'mayfly-files-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function written(content: unknown): string {
  const path = join(folder, 'file.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const JOE = { email: 'Joe@gmail.com', password: 'canary-password' }
const CLIENT = { client_id: 'id', client_secret: 'canary-secret', refresh_token: 'canary-token' }

describe('accounts', () => {
  test('are empty without a file', () => {
    expect(accountsFile('')).toEqual([])
  })

  test('need only address and password at Gmail', () => {
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

  test('may use another server and OAuth', () => {
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

  for (const [name, content, message] of [
    ['invalid JSON', '[{"password":"canary-password"', /must contain a JSON list/],
    ['something other than a list', {}, /must contain a JSON list/],
    ['a string', ['joe'], /account 1 must be object/],
    ['an unknown field', [{ ...JOE, pasword: 'x' }], /account 1: unknown field pasword/],
    ['no address', [{ password: 'x' }], /account 1: email is missing/],
    ['an alias', [{ ...JOE, email: 'joe+me@gmail.com' }], /account 1: email is not the address/],
    ['a local part too long for a tag', [{ ...JOE, email: `${'j'.repeat(56)}@gmail.com` }], /55/],
    ['no host outside Gmail', [{ ...JOE, email: 'joe@mail.test' }], /account 1: host is missing/],
    ['no login', [{ email: 'joe@gmail.com' }], /needs either password or oauth/],
    ['two logins', [{ ...JOE, oauth: CLIENT }], /needs either password or oauth/],
    [
      'an incomplete OAuth client',
      [{ email: JOE.email, oauth: { client_id: 'x' } }],
      /account 1: oauth.client_secret is missing/,
    ],
    [
      'a token URL without TLS',
      [{ email: JOE.email, oauth: { ...CLIENT, token_url: 'http://tokens.example/t' } }],
      /account 1: oauth.token_url must be an https URL/,
    ],
    [
      'an invalid token URL',
      [{ email: JOE.email, oauth: { ...CLIENT, token_url: 'x' } }],
      /token_url/,
    ],
    ['a remote server without TLS', [{ ...JOE, tls: false }], /tls may be false only/],
    ['an invalid port', [{ ...JOE, port: 99_999 }], /account 1: port must be <= 65535/],
    ['a duplicate account', [JOE, { ...JOE, email: 'JOE@gmail.com' }], /account 2 is a duplicate/],
  ] as const) {
    test(`${name} is refused without quoting a secret`, () => {
      expect(() => accountsFile(written(content))).toThrow(message)
      try {
        accountsFile(written(content))
      } catch (error) {
        expect(String(error)).not.toMatch(/canary/)
      }
    })
  }
})

const SMALL = { id: 'small', name: 'Small', price_cents: 100, requests: 50 }

describe('plans', () => {
  test('are the default ones without a file', () => {
    expect(plansFile('')).toBe(PLANS)
  })

  test('of a file replace the default ones', () => {
    const monthly = {
      ...SMALL,
      id: 'club',
      currency: 'eur',
      per_day: 5,
      months: 1,
      domains: 2,
      renews: true,
    }
    expect(plansFile(written([SMALL, { ...monthly, support: 'by post' }]))).toEqual([
      {
        id: 'small',
        name: 'Small',
        priceCents: 100,
        currency: 'usd',
        requests: 50,
        perDay: undefined,
        months: undefined,
        domains: 0,
        renews: false,
        support: '',
      },
      {
        id: 'club',
        name: 'Small',
        priceCents: 100,
        currency: 'eur',
        requests: 50,
        perDay: 5,
        months: 1,
        domains: 2,
        renews: true,
        support: 'by post',
      },
    ])
  })

  for (const [name, content, message] of [
    ['invalid JSON', '{', /JSON list of plans/],
    ['an object', {}, /list of plans/],
    ['an empty list', [], /list of plans/],
    ['a string', ['starter'], /plan 1 must be object/],
    ['an unknown field', [{ ...SMALL, price: 5 }], /plan 1: unknown field price/],
    ['zero requests', [{ ...SMALL, requests: 0 }], /plan 1: requests must be >= 1/],
    ['a fraction of a cent', [{ ...SMALL, price_cents: 0.5 }], /price_cents must be integer/],
    ['a price as text', [{ ...SMALL, price_cents: '5' }], /price_cents/],
    ['an invalid id', [{ ...SMALL, id: 'Small plan' }], /plan 1: id/],
    ['an invalid currency', [{ ...SMALL, currency: 'dollar' }], /currency/],
    ['zero months', [{ ...SMALL, months: 0 }], /plan 1: months must be >= 1/],
    ['more than a hundred years', [{ ...SMALL, months: 1_201 }], /plan 1: months must be <= 1200/],
    ['a renewal without months', [{ ...SMALL, renews: true }], /plan 1: renews needs months/],
    ['renews as text', [{ ...SMALL, months: 1, renews: 'yes' }], /plan 1: renews must be boolean/],
    ['a duplicate plan', [SMALL, SMALL], /duplicate plan small/],
  ] as const) {
    test(`${name} is refused with its position`, () => {
      expect(() => plansFile(written(content))).toThrow(message)
    })
  }

  test('may last a hundred years', () => {
    const [plan] = plansFile(written([{ ...SMALL, months: 1_200 }]))
    expect(plan?.months).toBe(1_200)
  })

  test('of a missing file are refused', () => {
    expect(() => plansFile(join(folder, 'nowhere.json'))).toThrow(/nowhere\.json/)
  })
})

describe('Stripe prices', () => {
  test('are given per plan', () => {
    expect(stripePrices('starter=price_1, business=price_2')).toEqual({
      starter: 'price_1',
      business: 'price_2',
    })
    expect(stripePrices('')).toEqual({})
  })
  for (const bad of ['starter', 'starter=', '=price_1', 'a=b=c', 'starter=price_1,']) {
    test(`${bad} is refused`, () => {
      expect(() => stripePrices(bad)).toThrow(/use plan=price/)
    })
  }
})
