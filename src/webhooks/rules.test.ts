import { Webhook as Verifier } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { settingReader } from '../base/settings/settings.ts'
import { type ApiKey, nextUtcDay } from '../keys/rules.ts'
import {
  afterFailure,
  deliveryId,
  isDelivered,
  parseRetryAfter,
  retryDelayMs,
  signedHeaders,
  validSecrets,
  type Webhook,
  webhookSecret,
  webhookStatus,
} from './rules.ts'
import { webhookConfig } from './settings.ts'

const INSTALLATION = new Uint8Array(32).fill(1)
const NOW = new Date()
const BODY = '{"type":"message.received","data":{"subject":"ü"}}'

describe('a signature', () => {
  const secret = webhookSecret(INSTALLATION, 'wh_1', 1)
  const message = { id: 'msg_1', timestamp: NOW, body: BODY }

  test('is accepted by another implementation of Standard Webhooks', () => {
    const headers = signedHeaders([secret], message)
    expect(new Verifier(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY))
  })

  for (const [name, change] of [
    ['another body', { body: `${BODY} ` }],
    ['another id', { headers: { 'webhook-id': 'msg_2' } }],
    ['another time', { headers: { 'webhook-timestamp': String(NOW.getTime()) } }],
    ['another secret', { secret: webhookSecret(INSTALLATION, 'wh_1', 2) }],
  ] as [string, Change][]) {
    test(`does not cover ${name}`, () => {
      const headers = { ...signedHeaders([secret], message), ...change.headers }
      const verifier = new Verifier(change.secret ?? secret)
      expect(() => verifier.verify(change.body ?? BODY, headers)).toThrow()
    })
  }

  test('is accepted with the old and the new secret for 24 hours after a roll', () => {
    const webhook = { id: 'wh_1', generation: 2, oldSecretUntil: new Date(NOW.getTime() + 1) }
    const next = webhookSecret(INSTALLATION, 'wh_1', 2)
    const both = signedHeaders(validSecrets(INSTALLATION, webhook, NOW), message)
    for (const one of [secret, next])
      expect(() => new Verifier(one).verify(BODY, both)).not.toThrow()
    const later = validSecrets(INSTALLATION, webhook, new Date(NOW.getTime() + 1))
    expect(later).toEqual([next])
  })
})

interface Change {
  body?: string
  headers?: Record<string, string>
  secret?: string
}

test('secrets are 32 bytes, different for each installation, webhook and generation', () => {
  const secrets = [
    webhookSecret(INSTALLATION, 'wh_1', 1),
    webhookSecret(INSTALLATION, 'wh_1', 2),
    webhookSecret(INSTALLATION, 'wh_2', 1),
    webhookSecret(new Uint8Array(32), 'wh_1', 1),
  ]
  expect(new Set(secrets).size).toBe(4)
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_/)
    expect(Buffer.from(secret.slice(6), 'base64').length).toBe(32)
  }
})

test('the id of a delivery differs by webhook, message and replay only', () => {
  const pending = { id: 1, replay: 0 }
  const ids = [
    deliveryId('wh_1', pending),
    deliveryId('wh_2', pending),
    deliveryId('wh_1', { ...pending, id: 2 }),
    deliveryId('wh_1', { ...pending, replay: 1 }),
  ]
  expect(new Set(ids).size).toBe(4)
})

const { retryDelaysMs: DELAYS_MS } = webhookConfig(settingReader({ env: {}, file: {} })).webhooks

test('retries are after 5 s, 30 s, 2 m, 10 m, 30 m, then hourly with jitter', () => {
  const seconds = (failures: number, random: number) =>
    retryDelayMs(failures, { delaysMs: DELAYS_MS, random }) / 1000
  expect([1, 2, 3, 4, 5].map((failures) => seconds(failures, 0))).toEqual([5, 30, 120, 600, 1800])
  expect([0, 0.5, 1].map((random) => seconds(6, random))).toEqual([3240, 3600, 3960])
  expect(seconds(50, 0.5)).toBe(3600)
})

test('MAYFLY_WEBHOOK_RETRIES names the delays; the last one repeats', () => {
  const reader = settingReader({ env: { MAYFLY_WEBHOOK_RETRIES: '1s,2s' }, file: {} })
  const { retryDelaysMs: delaysMs } = webhookConfig(reader).webhooks
  const seconds = [1, 2, 3].map((one) => retryDelayMs(one, { delaysMs, random: 0.5 }) / 1000)
  expect(seconds).toEqual([1, 2, 2])
})

for (const given of ['0s', '2h', 'soon', ',', '1s,,x']) {
  test(`MAYFLY_WEBHOOK_RETRIES=${given} is refused`, () => {
    const reader = settingReader({ env: { MAYFLY_WEBHOOK_RETRIES: given }, file: {} })
    webhookConfig(reader)
    expect(() => reader.throwIfInvalid()).toThrow(/MAYFLY_WEBHOOK_RETRIES: /)
  })
}

for (const [retryAfterMs, expected] of [
  [0, 5],
  [1_000, 5],
  [60_000, 60],
  [999_999_999, 86_400],
] as const) {
  test(`Retry-After of ${retryAfterMs} ms delays the first retry to ${expected} s`, () => {
    expect(retryDelayMs(1, { delaysMs: DELAYS_MS, random: 0, retryAfterMs }) / 1000).toBe(expected)
  })
}

for (const [value, expected] of [
  [undefined, undefined],
  ['120', 120_000],
  ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
  ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
  ['soon', undefined],
  ['-5', undefined],
  ['', undefined],
] as const) {
  test(`Retry-After: ${value}`, () => {
    expect(parseRetryAfter(value, new Date('2026-03-01T12:00:00Z'))).toBe(expected)
  })
}

for (const [status, delivered] of [
  [null, false],
  [199, false],
  [200, true],
  [299, true],
  [301, false],
  [400, false],
  [503, false],
] as const) {
  test(`${status} is ${delivered ? 'a success' : 'a failure'}`, () => {
    expect(isDelivered({ status })).toBe(delivered)
  })
}

describe('a failure', () => {
  const HOUR = 3_600_000
  const DAY = 24 * HOUR
  const ago = (ms: number) => new Date(NOW.getTime() - ms)
  const after = (failingForMs: number | undefined, status: number, dueForMs = 0) => {
    const failingSince = failingForMs === undefined ? undefined : ago(failingForMs)
    const webhook = { failures: 8, failingSince, nextAttemptAt: ago(dueForMs) }
    return afterFailure(webhook, { status }, { now: NOW, delaysMs: DELAYS_MS, random: 0 })
  }
  test('of five days disables', () => {
    const failingSince = ago(5 * DAY)
    expect(after(5 * DAY, 500)).toEqual({ failures: 9, failingSince, disabled: 'failing' })
    for (const other of [after(5 * DAY - 1, 500), after(undefined, 500)]) {
      expect(other).toMatchObject({ disabled: undefined, retryAt: expect.any(Date) })
    }
  })
  test('with 410 disables at once', () => {
    expect(after(undefined, 410)).toHaveProperty('disabled', 'gone')
  })
  test('after hours without an attempt is the first of a new series', () => {
    const first = { failures: 1, failingSince: NOW, retryAt: ago(-5_000) }
    expect(after(6 * DAY, 500, 2 * HOUR)).toEqual(first)
    expect(after(4 * DAY, 500, 2 * HOUR - 1)).toMatchObject({
      failures: 9,
      failingSince: ago(4 * DAY),
    })
  })
})

describe('the state', () => {
  const key = { state: 'active', maxRequests: 10, used: 0, maxPerDay: 5, usedToday: 0 } as ApiKey
  const pending = { id: 1, replay: 0 }
  const nextAttemptAt = new Date(NOW.getTime() + 5_000)
  const midnight = nextUtcDay(NOW)
  const failing = { failures: 1, lastError: 'timeout', nextAttemptAt }
  for (const [name, webhook, keyState, expected] of [
    ['nothing has failed', {}, {}, ['active']],
    ['a message is pending', { pending }, {}, ['active']],
    ['an attempt failed', { ...failing, pending }, {}, ['failing', 'timeout', nextAttemptAt]],
    ['that message has expired', failing, {}, ['active']],
    ['its holder has paused it', { paused: true, pending }, { used: 10 }, ['paused']],
    ['it is disabled and paused', { paused: true, disabled: 'gone' }, {}, ['disabled', 'gone']],
    ['the day is used up', {}, { usedToday: 5 }, ['paused', 'daily_limit', midnight]],
    ['the plan is used up', failing, { used: 10 }, ['paused', 'quota_exhausted']],
    ['the plan has expired', {}, { expiresAt: NOW }, ['paused', 'plan_expired']],
    ['the pending message used it up', { pending }, { used: 10 }, ['active']],
    ['the key was stopped', { pending }, { state: 'stopped' }, ['paused', 'plan_expired']],
    ['it is disabled', { disabled: 'gone', pending }, { used: 10 }, ['disabled', 'gone']],
  ] as [string, Partial<Webhook>, Partial<ApiKey>, [string, string?, Date?]][]) {
    test(`is ${expected[0]} if ${name}`, () => {
      const [state, reason, next] = expected
      const read = { failures: 0, ...webhook, key: { ...key, ...keyState } } as Webhook
      expect(webhookStatus(read, NOW)).toEqual({ state, reason, nextAttemptAt: next })
    })
  }
})
