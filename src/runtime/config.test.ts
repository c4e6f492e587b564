import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { tempFolder } from '../../test/kit/store/stores.ts'
import { SettingsError } from '../base/settings/settings.ts'
import { MAX_LIFETIME_SECONDS, MIN_LIFETIME_SECONDS } from '../mail/rules/session.ts'
import { type Config, readConfig } from './config.ts'

const defaults = readConfig({ env: {}, file: {} })

const CORES = process.platform === 'linux' ? availableParallelism() : 1
const threads = (most: number) => Math.max(1, Math.min(CORES - 1, most))

test('the defaults are a complete config', () => {
  const { config } = defaults
  expect(config).toMatchObject({
    data: './data',
    store: 'sqlite:',
    host: '::',
    http: { port: 8080, threads: threads(4) },
    smtp: { port: 2525, threads: threads(3), maxBytes: 10 * 1024 ** 2 },
    sessions: { sessionSeconds: 86_400, maxMessages: 1_000, maxBytes: 100 * 1024 ** 2 },
    pool: { ttlMs: 86_400_000 },
    senderChecks: { on: true, dns: [] },
  })
  expect(config.domains).toHaveLength(12)
  expect(config.domains.every((name) => name.endsWith('.example'))).toBe(true)
})

test('every setting has a MAYFLY_ name, a meaning, and is listed once', () => {
  const names = defaults.settings.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const { name, meaning } of defaults.settings) {
    expect(name).toMatch(/^MAYFLY_[A-Z_]+$/)
    expect(meaning.length).toBeGreaterThan(9)
  }
})

test('a config survives a structured clone', () => {
  expect(structuredClone(defaults.config)).toEqual(defaults.config)
})

test('a config is deeply frozen', () => {
  const mutable = defaults.config as { -readonly [K in keyof Config]: Config[K] }
  expect(() => {
    mutable.data = 'elsewhere'
  }).toThrow(TypeError)
  expect(Object.isFrozen(mutable.smtp)).toBe(true)
  expect(Object.isFrozen(mutable.smtp.proxyFrom)).toBe(true)
  expect(Object.isFrozen(mutable.domains)).toBe(true)
})

test('all problems are reported together', () => {
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
    const named = error.problems.map((problem) => /^MAYFLY_[A-Z_]+/.exec(problem)?.[0])
    expect(named.sort()).toEqual(
      [...Object.keys(env), 'MAYFLY_HTPP_PORT'].map((name) => name.replace(/_FILE$/, '')).sort(),
    )
  }
})

test('a wrong choice of tools for agents is answered with all of them', () => {
  expect(() => readConfig({ env: { MAYFLY_MCP: 'some' }, file: {} })).toThrow(
    /MAYFLY_MCP: "some" is not one of "on", "codes", "off"/,
  )
})

describe('lifetime of a session', () => {
  for (const [seconds, valid] of [
    [MIN_LIFETIME_SECONDS - 1, false],
    [MIN_LIFETIME_SECONDS, true],
    [MAX_LIFETIME_SECONDS, true],
    [MAX_LIFETIME_SECONDS + 1, false],
  ] as const) {
    test(`may ${valid ? '' : 'not '}be ${seconds} seconds`, () => {
      const read = () => readConfig({ env: { MAYFLY_SESSION_TTL: `${seconds}s` }, file: {} })
      if (valid) expect(read().config.sessions.sessionSeconds).toBe(seconds)
      else expect(read).toThrow(SettingsError)
    })
  }
})

test('a TLS key requires a certificate', () => {
  const key = { MAYFLY_SMTP_TLS_KEY: 'key.pem' }
  expect(() => readConfig({ env: key, file: {} })).toThrow(/set both or neither/)
  const both = { ...key, MAYFLY_SMTP_TLS_CERT: 'cert.pem' }
  expect(readConfig({ env: both, file: {} }).config.smtp).toMatchObject({
    tlsCert: 'cert.pem',
    tlsKey: 'key.pem',
  })
})

describe('server URLs', () => {
  const STORE = 'postgres://mayfly:p@ss@db/mayfly?sslmode=require'
  const shownOf = (env: Record<string, string>, name: string) =>
    readConfig({ env, file: {} }).settings.find((one) => one.name === name)?.shown

  test('are shown without passwords and used with them', () => {
    const env = { MAYFLY_STORE: STORE, MAYFLY_REDIS: 'redis://:secret@b:6379' }
    expect(shownOf(env, 'MAYFLY_STORE')).toBe('postgres://mayfly:…@db/mayfly?sslmode=require')
    expect(shownOf(env, 'MAYFLY_REDIS')).toBe('redis://:…@b:6379')
    expect(readConfig({ env, file: {} }).config).toMatchObject({ store: STORE })
    const withComma = { MAYFLY_STORE: 'postgres://mayfly:se,cret@db/mayfly?sslpassword=se,cret' }
    expect(shownOf(withComma, 'MAYFLY_STORE')).toBe('postgres://mayfly:…@db/mayfly?sslpassword=…')
    const withQuery = {
      MAYFLY_STORE: 'postgres://db/mayfly?user=x&password=secret&sslmode=require',
    }
    expect(shownOf(withQuery, 'MAYFLY_STORE')).not.toContain('secret')
  })

  for (const [name, env] of [
    ['Redis without a shared store', { MAYFLY_REDIS: 'redis://news' }],
    ['daily backups of PostgreSQL', { MAYFLY_STORE: STORE, MAYFLY_BACKUP: '/backups' }],
    ['daily backups into the data folder', { MAYFLY_DATA: './data', MAYFLY_BACKUP: 'data/' }],
    ['an invalid Redis URL', { MAYFLY_STORE: STORE, MAYFLY_REDIS: 'http://:secret@news' }],
    [
      'the servers of a Redis Cluster',
      { MAYFLY_STORE: STORE, MAYFLY_REDIS: 'redis://:secret@a,redis://:secret@b' },
    ],
    [
      'a password that cannot be decoded',
      { MAYFLY_STORE: STORE, MAYFLY_REDIS: 'redis://:%secret@b' },
    ],
    ['an unknown store', { MAYFLY_STORE: 'mysql://x:secret@db' }],
    ['a store without slashes', { MAYFLY_STORE: 'postgres:x:secret@db' }],
  ] as const) {
    test(`are refused: ${name}; no password is quoted`, () => {
      const read = () => readConfig({ env, file: {} })
      expect(read).toThrow(SettingsError)
      expect(read).not.toThrow(/secret/)
    })
  }
})

describe('the shop', () => {
  const problemsOf = (env: Record<string, string>): readonly string[] => {
    try {
      readConfig({ env, file: {} })
      return []
    } catch (error) {
      return error instanceof SettingsError ? error.problems : [String(error)]
    }
  }
  const stripe = {
    MAYFLY_PAYMENTS: 'stripe',
    MAYFLY_STRIPE_SECRET_KEY: 'sk_test_1',
    MAYFLY_STRIPE_WEBHOOK_SECRET: 'whsec_1, whsec_2',
    MAYFLY_BASE_URL: 'https://mail.test',
  }

  test('uses manual payments by default', () => {
    expect(defaults.config.payments.provider).toBe('manual')
    expect(defaults.config.plans.map(({ id }) => id)).toEqual(['starter', 'business'])
    expect(defaults.config.poolAccess).toBe('open')
  })

  test('accepts two webhook secrets during rotation and shows neither', () => {
    const { config, settings } = readConfig({ env: stripe, file: {} })
    expect(config.payments.stripe.webhookSecrets).toEqual(['whsec_1', 'whsec_2'])
    expect(JSON.stringify(settings)).not.toMatch(/whsec_1|sk_test_1/)
  })

  test('with Stripe requires its secrets and a base URL', () => {
    expect(problemsOf(stripe)).toEqual([])
    const { MAYFLY_PAYMENTS } = stripe
    expect(problemsOf({ MAYFLY_PAYMENTS })).toEqual([
      'MAYFLY_PAYMENTS=stripe requires MAYFLY_STRIPE_SECRET_KEY',
      'MAYFLY_PAYMENTS=stripe requires MAYFLY_STRIPE_WEBHOOK_SECRET',
      'MAYFLY_PAYMENTS=stripe requires MAYFLY_BASE_URL: buyers are sent back to it',
    ])
  })

  test('requires a sender for receipts, and never quotes the password of the mail server', () => {
    const { MAYFLY_BASE_URL } = stripe
    const valid = { MAYFLY_MAIL_FROM: 'shop@mail.test', MAYFLY_BASE_URL }
    expect(problemsOf({ ...valid, MAYFLY_MAIL_OUT: 'smtps://u:canary@mx.test' })).toEqual([])
    expect(problemsOf({ MAYFLY_MAIL_OUT: 'smtp://mx.test' })).toEqual([
      'MAYFLY_MAIL_OUT requires MAYFLY_MAIL_FROM, an email address',
      'MAYFLY_MAIL_OUT requires MAYFLY_BASE_URL: receipts contain a link',
    ])
    expect(problemsOf({ ...valid, MAYFLY_MAIL_OUT: 'http://u:canary@mx.test' })).toEqual([
      'MAYFLY_MAIL_OUT: must be smtp://host or smtps://host',
    ])
  })

  describe('with Stripe refuses plans that Stripe cannot sell', () => {
    const folder = tempFolder()
    afterAll(() => folder.remove())
    const withPlan = (plan: Record<string, unknown>, env: Record<string, string> = stripe) => {
      const path = join(folder.path, 'plans.json')
      const small = { id: 'small', name: 'Small', price_cents: 100, requests: 50 }
      writeFileSync(path, JSON.stringify([{ ...small, ...plan }]))
      return problemsOf({ ...env, MAYFLY_PLANS_FILE: path })
    }
    for (const [name, plan, problems] of [
      ['renewal every three years is accepted', { months: 36, renews: true }, []],
      [
        'a longer renewal period is refused',
        { months: 37, renews: true },
        ['MAYFLY_PAYMENTS=stripe renews after at most 36 months; plan small has 37'],
      ],
      ['any duration without renewal is accepted', { months: 1_200 }, []],
      [
        'a free plan is refused',
        { price_cents: 0 },
        ['MAYFLY_PAYMENTS=stripe cannot sell plan small for free'],
      ],
    ] as const) {
      test(name, () => expect(withPlan(plan)).toEqual(problems))
    }

    test('other providers accept them', () => {
      expect(withPlan({ price_cents: 0, months: 48, renews: true }, {})).toEqual([])
    })
  })

  test('refuses the fake provider in production', () => {
    expect(problemsOf({ MAYFLY_PAYMENTS: 'fake' })).toEqual([])
    expect(problemsOf({ MAYFLY_PAYMENTS: 'fake', NODE_ENV: 'production' })).toEqual([
      expect.stringContaining('not allowed with NODE_ENV=production'),
    ])
  })

  test('refuses a Stripe price for an unknown plan', () => {
    expect(problemsOf({ MAYFLY_STRIPE_PRICES: 'gold=price_1' })).toEqual([
      'MAYFLY_STRIPE_PRICES: unknown plan gold',
    ])
  })
})

test('the cool-down of an alias is at least an hour', () => {
  const folder = tempFolder()
  const file = join(folder.path, 'accounts.json')
  writeFileSync(file, JSON.stringify([{ email: 'joe@gmail.com', password: 'x' }]))
  const read = (MAYFLY_ADDRESS_COOLDOWN: string, MAYFLY_GMAIL_ACCOUNTS_FILE = file) =>
    readConfig({ env: { MAYFLY_ADDRESS_COOLDOWN, MAYFLY_GMAIL_ACCOUNTS_FILE }, file: {} })
  expect(() => read('59m')).toThrow(/at least 1h with Gmail accounts/)
  expect(read('1h').config.gmailAccounts).toHaveLength(1)
  expect(read('0s', '').config.sessions.cooldownMs).toBe(0)
  folder.remove()
})
