import { describe, expect, test } from 'vitest'
import { generateKey, selfSigned, signingRequest } from '../x509.ts'
import { openAcmeClient } from './client.ts'
import type { AcmeResponse, SendAcme } from './http.ts'
import { retryAfter } from './requests.ts'

// Responses of a CA that is broken, or is not one.

const CA = 'https://ca.test'
const DIRECTORY = { newNonce: `${CA}/nonce`, newAccount: `${CA}/account`, newOrder: `${CA}/order` }
const key = generateKey()
const json = (status: number, value: unknown, headers = {}): AcmeResponse => {
  return { status, headers: { 'replay-nonce': 'n', ...headers }, body: JSON.stringify(value) }
}
const authorization = (fields: object) => json(200, { status: 'pending', ...fields })
const certificate = (hostname: string) =>
  selfSigned({ hostname, now: new Date(), serial: Buffer.from([1]) })

/** A CA that issues a certificate, except for these responses. */
function hostile(responses: Record<string, AcmeResponse>): SendAcme {
  const usual: Record<string, AcmeResponse> = {
    '/dir': json(200, DIRECTORY),
    '/nonce': json(200, {}),
    '/account': json(201, {}, { location: `${CA}/account/1` }),
    '/order': json(
      201,
      { status: 'pending', authorizations: [`${CA}/authz`], finalize: `${CA}/finalize` },
      { location: `${CA}/order/1` },
    ),
    '/authz': json(200, { status: 'valid' }),
    '/order/1': json(200, { status: 'ready' }),
    '/finalize': json(200, { status: 'valid', certificate: `${CA}/cert` }),
    '/cert': { status: 200, headers: { 'replay-nonce': 'n' }, body: certificate('mx.box.test') },
  }
  return async (url) => {
    const { pathname } = new URL(url)
    const found = responses[pathname] ?? usual[pathname]
    if (!found) throw new Error(`no response for ${pathname}`)
    return found
  }
}

async function obtain(send: SendAcme): Promise<string> {
  const { signal } = new AbortController()
  const client = await openAcmeClient({ send, directory: `${CA}/dir`, accountKey: key, signal })
  const account = await client.register('ann@box.test')
  const proof = { type: 'http-01' as const, publish: async () => async () => {} }
  const csr = signingRequest('mx.box.test', key)
  return await client.obtain({ account, name: 'mx.box.test', key, csr, proof })
}

const challenge = (fields: object) => ({ type: 'http-01', url: `${CA}/challenge`, ...fields })

describe('a clear error is the result of', () => {
  for (const [name, responses, expected] of [
    [
      'a directory that is not JSON',
      { '/dir': { ...json(200, {}), body: '<html>' } },
      /not a JSON/,
    ],
    ['a directory that is a list', { '/dir': json(200, []) }, /not a JSON object/],
    [
      'a directory without newOrder',
      { '/dir': json(200, { ...DIRECTORY, newOrder: 1 }) },
      /newOrder: not an https URL/,
    ],
    [
      'http URLs',
      { '/dir': json(200, { ...DIRECTORY, newNonce: 'http://ca.test/' }) },
      /newNonce: not an https URL/,
    ],
    [
      'a redirect',
      { '/dir': json(302, {}, { location: 'https://other.test/' }) },
      /status 302, and redirects are not followed/,
    ],
    [
      'an error page',
      { '/account': { ...json(502, {}), body: '<html>' } },
      /the account: status 502/,
    ],
    [
      'no nonce',
      {
        '/nonce': { status: 200, headers: {}, body: '' },
        '/dir': { ...json(200, DIRECTORY), headers: {} },
      },
      /no nonce/,
    ],
    [
      'nonces that are all refused',
      { '/account': json(400, { type: 'urn:ietf:params:acme:error:badNonce' }) },
      /badNonce/,
    ],
    ['an account without a URL', { '/account': json(201, {}) }, /location: not an https URL/],
    [
      'an authorization without challenges',
      { '/authz': authorization({}) },
      /does not offer http-01/,
    ],
    [
      'challenges that are not a list',
      { '/authz': authorization({ challenges: 'x' }) },
      /does not offer http-01/,
    ],
    [
      'a token that is a path',
      { '/authz': authorization({ challenges: [challenge({ token: '../x' })] }) },
      /token is invalid/,
    ],
    [
      'a token without end',
      { '/authz': authorization({ challenges: [challenge({ token: 'x'.repeat(200) })] }) },
      /token is invalid/,
    ],
    ['an invalid order', { '/order/1': json(200, { status: 'invalid' }) }, /no reason given/],
    ['no certificate', { '/cert': { ...json(200, {}), body: 'nothing' } }, /has none/],
    [
      'a damaged certificate',
      {
        '/cert': {
          ...json(200, {}),
          body: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
        },
      },
      /cannot be read/,
    ],
    [
      'a certificate of another name',
      { '/cert': { ...json(200, {}), body: certificate('other.test') } },
      /is for DNS:other\.test/,
    ],
    ['a certificate of another key', {}, /is for another key/],
  ] as [string, Record<string, AcmeResponse>, RegExp][]) {
    test(name, async () => {
      await expect(obtain(hostile(responses))).rejects.toThrow(expected)
    })
  }

  test('a reason that is long and has control characters, which are removed', async () => {
    const detail = `\u001b[31m${'x'.repeat(10_000)}`
    const type = 'urn:ietf:params:acme:error:rateLimited'
    const limited = json(429, { type, detail }, { 'retry-after': '60' })
    const error = await obtain(hostile({ '/order': limited })).catch((thrown) => thrown)
    expect(error.message.length).toBeLessThanOrEqual(500)
    expect(error.message).toMatch(/^the order for mx\.box\.test: rateLimited: \[31mxxx/)
    expect(error).toMatchObject({ type: 'rateLimited', retryAfterMs: 60_000 })
  })
})

test('Retry-After is a number of seconds or a date, and has a limit', () => {
  const date = 'Sun, 01 Mar 2026 12:00:00 GMT'
  for (const [given, expected] of [
    ['3', 3_000],
    ['Sun, 01 Mar 2026 12:01:00 GMT', 60_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['999999999', 7 * 86_400_000],
    ['soon', undefined],
    [undefined, undefined],
  ] as const) {
    expect(retryAfter({ headers: { date, 'retry-after': given } })).toBe(expected)
  }
})
