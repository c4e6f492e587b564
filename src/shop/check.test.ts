import { describe, expect, test } from 'vitest'
import { evaluatePayments } from './check.ts'

describe('payments', () => {
  const url = 'https://box.example.org/api/stripe/webhook'
  const facts = {
    provider: 'stripe',
    isTestMode: false,
    baseUrl: 'https://box.example.org',
    endpoints: [{ url, enabled: true, missing: [] }],
    areSecretsValid: true,
  } as const
  for (const [name, changed, status] of [
    ['manual', { provider: 'manual' }, 'ok'],
    ['a test shop', { provider: 'fake' }, 'warning'],
    ['Stripe', {}, 'ok'],
    ['Stripe in test mode', { isTestMode: true }, 'warning'],
    ['no endpoint', { endpoints: [] }, 'failure'],
    [
      'an endpoint elsewhere',
      { endpoints: [{ url: `${url}s`, enabled: true, missing: [] }] },
      'failure',
    ],
    ['a disabled endpoint', { endpoints: [{ url, enabled: false, missing: [] }] }, 'failure'],
    [
      'an endpoint without refunds',
      { endpoints: [{ url, enabled: true, missing: ['charge.refunded'] }] },
      'warning',
    ],
    ['a secret of something else', { areSecretsValid: false }, 'failure'],
    ['an invalid key', { endpoints: { error: 'StripeAuthenticationError' } }, 'failure'],
    ['a key that may not list them', { endpoints: { error: 'permission' } }, 'warning'],
  ] as const) {
    test(`${name}: ${status}`, () =>
      expect(evaluatePayments({ ...facts, ...changed }).status).toBe(status))
  }
})
