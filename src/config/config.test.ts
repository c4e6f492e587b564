import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { tempFolder } from '../../test/support/stores.ts'
import { MAX_LIFETIME_SECONDS, MIN_LIFETIME_SECONDS } from '../core/session.ts'
import { type Config, readConfig } from './config.ts'
import { SettingsError } from './settings.ts'

const defaults = readConfig({ env: {}, file: {} })

test('without a single setting there is a whole config, and the names that are promised', () => {
  const { config } = defaults
  expect(config).toMatchObject({
    data: './data',
    store: 'sqlite:',
    host: '::',
    http: { port: 8080, threads: 1 },
    smtp: { port: 2525, threads: 1, maxBytes: 10 * 1024 ** 2 },
    sessions: { sessionSeconds: 86_400, maxMessages: 1_000, maxBytes: 100 * 1024 ** 2 },
    pool: { ttlMs: 86_400_000 },
    senderChecks: { on: true, dns: [] },
  })
  expect(config.domains).toHaveLength(12)
  expect(config.domains.every((name) => name.endsWith('.example'))).toBe(true)
})

test('every setting has a name of ours, a meaning, and stands once', () => {
  const names = defaults.settings.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const { name, meaning } of defaults.settings) {
    expect(name).toMatch(/^MAYFLY_[A-Z_]+$/)
    expect(meaning.length).toBeGreaterThan(9)
  }
})

test('a config can be posted to a thread and comes out equal', () => {
  expect(structuredClone(defaults.config)).toEqual(defaults.config)
})

test('nothing in a config can be changed', () => {
  const loose = defaults.config as { -readonly [K in keyof Config]: Config[K] }
  expect(() => {
    loose.data = 'elsewhere'
  }).toThrow(TypeError)
  expect(Object.isFrozen(loose.smtp)).toBe(true)
  expect(Object.isFrozen(loose.smtp.proxyFrom)).toBe(true)
  expect(Object.isFrozen(loose.domains)).toBe(true)
})

test('all faults are listed at once', () => {
  const env = {
    MAYFLY_HTTP_PORT: '99999',
    MAYFLY_STORE: 'mysql://db',
    MAYFLY_RATE_LIMITS: 'sometimes',
    MAYFLY_SESSION_TTL: '10s',
    MAYFLY_MAX_MESSAGE: '1GB',
    MAYFLY_DOMAINS: 'good.example,not a name',
    MAYFLY_TRUST_PROXY: '10.0.0.0/99',
    MAYFLY_BASE_URL: 'mail.example',
    MAYFLY_SMTP_HOSTNAME: 'mx\r\n',
    MAYFLY_SMTP_TLS_CERT: '/etc/cert.pem',
    MAYFLY_ADMIN_TOKEN_FILE: '/nowhere/token',
  }
  try {
    readConfig({ env, file: { MAYFLY_HTPP_PORT: 1 } })
    expect.unreachable()
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const named = error.faults.map((fault) => /^MAYFLY_[A-Z_]+/.exec(fault)?.[0])
    expect(named.sort()).toEqual(
      [...Object.keys(env), 'MAYFLY_HTPP_PORT'].map((name) => name.replace(/_FILE$/, '')).sort(),
    )
  }
})

describe('a life of a session', () => {
  for (const [seconds, fine] of [
    [MIN_LIFETIME_SECONDS - 1, false],
    [MIN_LIFETIME_SECONDS, true],
    [MAX_LIFETIME_SECONDS, true],
    [MAX_LIFETIME_SECONDS + 1, false],
  ] as const) {
    test(`may ${fine ? '' : 'not '}be ${seconds} seconds`, () => {
      const read = () => readConfig({ env: { MAYFLY_SESSION_TTL: `${seconds}s` }, file: {} })
      if (fine) expect(read().config.sessions.sessionSeconds).toBe(seconds)
      else expect(read).toThrow(SettingsError)
    })
  }
})

test('a key without a certificate is a fault, both together are not', () => {
  const key = { MAYFLY_SMTP_TLS_KEY: 'key.pem' }
  expect(() => readConfig({ env: key, file: {} })).toThrow(/belong together/)
  const both = { ...key, MAYFLY_SMTP_TLS_CERT: 'cert.pem' }
  expect(readConfig({ env: both, file: {} }).config.smtp).toMatchObject({
    tlsCert: 'cert.pem',
    tlsKey: 'key.pem',
  })
})

describe('the servers that nodes share', () => {
  const STORE = 'postgres://mayfly:p@ss@db/mayfly?sslmode=require'
  const shownOf = (env: Record<string, string>, name: string) =>
    readConfig({ env, file: {} }).settings.find((one) => one.name === name)?.shown

  test('are shown without their passwords, and used with them', () => {
    const env = { MAYFLY_STORE: STORE, MAYFLY_REDIS: 'redis://a:6379, redis://:secret@b:6379,' }
    expect(shownOf(env, 'MAYFLY_STORE')).toBe('postgres://mayfly:…@db/mayfly?sslmode=require')
    expect(shownOf(env, 'MAYFLY_REDIS')).toBe('redis://a:6379,redis://:…@b:6379')
    expect(readConfig({ env, file: {} }).config).toMatchObject({ store: STORE })
    const comma = { MAYFLY_STORE: 'postgres://mayfly:se,cret@db/mayfly?sslpassword=se,cret' }
    expect(shownOf(comma, 'MAYFLY_STORE')).toBe('postgres://mayfly:…@db/mayfly?sslpassword=…')
    const asked = { MAYFLY_STORE: 'postgres://db/mayfly?user=x&password=secret&sslmode=require' }
    expect(shownOf(asked, 'MAYFLY_STORE')).not.toContain('secret')
  })

  for (const [what, env] of [
    ['news without a store to share', { MAYFLY_REDIS: 'redis://news' }],
    ['a Redis that is none', { MAYFLY_STORE: STORE, MAYFLY_REDIS: 'http://:secret@news' }],
    ['a Redis and a name', { MAYFLY_STORE: STORE, MAYFLY_REDIS: 'redis://:secret@news,b' }],
    ['a password that cannot be read', { MAYFLY_STORE: STORE, MAYFLY_REDIS: 'redis://:%secret@b' }],
    ['a store that is none', { MAYFLY_STORE: 'mysql://x:secret@db' }],
    ['a store without slashes', { MAYFLY_STORE: 'postgres:x:secret@db' }],
  ] as const) {
    test(`are refused: ${what}, and no password is quoted`, () => {
      const read = () => readConfig({ env, file: {} })
      expect(read).toThrow(SettingsError)
      expect(read).not.toThrow(/secret/)
    })
  }
})

describe('the shop', () => {
  const faultsOf = (env: Record<string, string>): readonly string[] => {
    try {
      readConfig({ env, file: {} })
      return []
    } catch (error) {
      return error instanceof SettingsError ? error.faults : [String(error)]
    }
  }
  const stripe = {
    MAYFLY_PAYMENTS: 'stripe',
    MAYFLY_STRIPE_SECRET_KEY: 'sk_test_1',
    MAYFLY_STRIPE_WEBHOOK_SECRET: 'whsec_1, whsec_2',
    MAYFLY_BASE_URL: 'https://mail.test',
  }

  test('sells nothing by itself unless it is told to', () => {
    expect(defaults.config.payments.provider).toBe('manual')
    expect(defaults.config.plans.map(({ id }) => id)).toEqual(['starter', 'business'])
    expect(defaults.config.readerPool).toBe('open')
  })

  test('takes two webhook secrets while they are changed, and shows neither', () => {
    const { config, settings } = readConfig({ env: stripe, file: {} })
    expect(config.payments.stripe.webhookSecrets).toEqual(['whsec_1', 'whsec_2'])
    expect(JSON.stringify(settings)).not.toMatch(/whsec_1|sk_test_1/)
  })

  test('of Stripe needs its secrets and the way back', () => {
    expect(faultsOf(stripe)).toEqual([])
    const { MAYFLY_PAYMENTS } = stripe
    expect(faultsOf({ MAYFLY_PAYMENTS })).toEqual([
      'MAYFLY_PAYMENTS=stripe needs MAYFLY_STRIPE_SECRET_KEY',
      'MAYFLY_PAYMENTS=stripe needs MAYFLY_STRIPE_WEBHOOK_SECRET',
      'MAYFLY_PAYMENTS=stripe needs MAYFLY_BASE_URL: buyers must find their way back',
    ])
  })

  test('sends receipts from an address, and never quotes the password of its mail server', () => {
    const { MAYFLY_BASE_URL } = stripe
    const fine = { MAYFLY_MAIL_FROM: 'shop@mail.test', MAYFLY_BASE_URL }
    expect(faultsOf({ ...fine, MAYFLY_MAIL_OUT: 'smtps://u:canary@mx.test' })).toEqual([])
    expect(faultsOf({ MAYFLY_MAIL_OUT: 'smtp://mx.test' })).toEqual([
      'MAYFLY_MAIL_OUT needs MAYFLY_MAIL_FROM, an e-mail address',
      'MAYFLY_MAIL_OUT needs MAYFLY_BASE_URL: receipts hold a link',
    ])
    expect(faultsOf({ ...fine, MAYFLY_MAIL_OUT: 'http://u:canary@mx.test' })).toEqual([
      'MAYFLY_MAIL_OUT: write smtp://host or smtps://host',
    ])
  })

  describe('of Stripe sells only what Stripe can sell', () => {
    const folder = tempFolder()
    afterAll(() => folder.remove())
    const withPlan = (plan: Record<string, unknown>, env: Record<string, string> = stripe) => {
      const path = join(folder.path, 'plans.json')
      const small = { id: 'small', name: 'Small', price_cents: 100, requests: 50 }
      writeFileSync(path, JSON.stringify([{ ...small, ...plan }]))
      return faultsOf({ ...env, MAYFLY_PLANS_FILE: path })
    }
    for (const [name, plan, faults] of [
      ['a renewal every three years', { months: 36, renews: true }, []],
      [
        'no renewal later than that',
        { months: 37, renews: true },
        ['MAYFLY_PAYMENTS=stripe renews within 36 months at the latest; the plan small has 37'],
      ],
      ['as long a time as you like, once', { months: 1_200 }, []],
      [
        'nothing for free',
        { price_cents: 0 },
        ['MAYFLY_PAYMENTS=stripe sells nothing for free, such as the plan small'],
      ],
    ] as const) {
      test(name, () => expect(withPlan(plan)).toEqual(faults))
    }

    test('which is nothing to the others', () => {
      expect(withPlan({ price_cents: 0, months: 48, renews: true }, {})).toEqual([])
    })
  })

  test('that is a fake is not for production', () => {
    expect(faultsOf({ MAYFLY_PAYMENTS: 'fake' })).toEqual([])
    expect(faultsOf({ MAYFLY_PAYMENTS: 'fake', NODE_ENV: 'production' })).toEqual([
      expect.stringContaining('not for NODE_ENV=production'),
    ])
  })

  test('knows a price only of a plan that it has', () => {
    expect(faultsOf({ MAYFLY_STRIPE_PRICES: 'gold=price_1' })).toEqual([
      'MAYFLY_STRIPE_PRICES: there is no plan gold',
    ])
  })
})

test('an alias of an account rests for an hour at least', () => {
  const folder = tempFolder()
  const file = join(folder.path, 'accounts.json')
  writeFileSync(file, JSON.stringify([{ email: 'joe@gmail.com', password: 'x' }]))
  const read = (MAYFLY_ADDRESS_COOLDOWN: string, MAYFLY_GMAIL_ACCOUNTS_FILE = file) =>
    readConfig({ env: { MAYFLY_ADDRESS_COOLDOWN, MAYFLY_GMAIL_ACCOUNTS_FILE }, file: {} })
  expect(() => read('59m')).toThrow(/with Gmail accounts an alias rests for 1h/)
  expect(read('1h').config.gmailAccounts).toHaveLength(1)
  expect(read('0s', '').config.sessions.cooldownMs).toBe(0)
  folder.remove()
})
