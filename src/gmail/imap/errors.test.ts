import { describe, expect, test } from 'vitest'
import { ImapError, type ImapErrorKind, retryDelayMs, toImapError } from './errors.ts'
import { DEFAULT_TIMING } from './options.ts'

const error = (facts: Record<string, unknown>) => Object.assign(new Error('Command failed'), facts)
const login = (response: string, code?: string) =>
  error({ authenticationFailed: true, response, ...(code ? { serverResponseCode: code } : {}) })

describe('classification', () => {
  for (const [name, given, kind, words] of [
    [
      'Gmail, wrong password',
      login('3 NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)', 'AUTHENTICATIONFAILED'),
      'login',
      'the server does not accept the login',
    ],
    [
      'Gmail, no app password',
      login('3 NO [ALERT] Application-specific password required: https://x.test', 'ALERT'),
      'login',
      'app password',
    ],
    [
      'Gmail, locked',
      login('3 NO [WEBALERT https://x.test] Web login required.', 'WEBALERT'),
      'throttled',
      'locked until its owner signs in',
    ],
    [
      'Gmail, connections',
      login('3 NO [ALERT] Too many simultaneous connections. (Failure)', 'ALERT'),
      'throttled',
      'too many simultaneous connections',
    ],
    [
      'Gmail, bandwidth',
      error({ responseStatus: 'NO', serverResponseCode: 'OVERQUOTA' }),
      'throttled',
      'daily quota',
    ],
    [
      'Gmail, bandwidth, as a syntax tree',
      error({
        responseStatus: 'NO',
        response: { attributes: [{ section: [{ value: 'OVERQUOTA' }] }] },
      }),
      'throttled',
      'daily quota',
    ],
    [
      'Gmail, BYE',
      error({ code: 'NoConnection', reason: 'Account exceeded command or bandwidth limits.' }),
      'throttled',
      'daily quota',
    ],
    [
      'Outlook',
      error({ code: 'ETHROTTLE', responseText: 'Request is throttled.' }),
      'throttled',
      'slow down',
    ],
    [
      'RFC 5530 LIMIT',
      error({ responseStatus: 'NO', serverResponseCode: 'LIMIT' }),
      'throttled',
      'slow down',
    ],
    [
      'Dovecot, connections',
      login('1 NO Maximum number of connections from user+IP exceeded'),
      'throttled',
      'too many simultaneous connections',
    ],
    [
      'Dovecot, wrong password',
      login('1 NO [AUTHENTICATIONFAILED] Authentication failed.'),
      'login',
      'does not accept',
    ],
    [
      'Dovecot, internal failure',
      login('1 NO [UNAVAILABLE] Temporary authentication failure.', 'UNAVAILABLE'),
      'unreachable',
      'temporarily unavailable',
    ],
    ['a refused command', error({ responseStatus: 'NO', responseText: 'no' }), 'lost', 'refused'],
    [
      'connection refused',
      error({ code: 'ECONNREFUSED' }),
      'unreachable',
      'cannot be reached (ECONNREFUSED)',
    ],
    ['unknown host', error({ code: 'ENOTFOUND' }), 'unreachable', 'cannot be reached (ENOTFOUND)'],
    ['no greeting', error({ code: 'GREETING_TIMEOUT' }), 'unreachable', 'cannot be reached'],
    [
      'a self-signed certificate',
      error({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      'certificate',
      'certificate',
    ],
    [
      'a certificate for another name',
      error({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
      'certificate',
      'certificate',
    ],
    ['an expired certificate', error({ code: 'CERT_HAS_EXPIRED' }), 'certificate', 'certificate'],
    [
      'no TLS',
      error({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }),
      'unreachable',
      'does not speak TLS',
    ],
    ['a literal too large', error({ code: 'LiteralTooLarge' }), 'invalid-data', 'invalid response'],
    ['a syntax error', error({ code: 'ParserError11' }), 'invalid-data', 'invalid response'],
    [
      'a closed connection',
      error({ code: 'NoConnection' }),
      'lost',
      'connection closed (NoConnection)',
    ],
    ['an unknown error', undefined, 'lost', 'connection closed'],
    [
      'an ImapError passes unchanged',
      new ImapError('invalid-data', 'as it is'),
      'invalid-data',
      'as it is',
    ],
  ] as const) {
    test(name, () => {
      const result = toImapError(given)
      expect(result.kind).toBe(kind)
      expect(result.message).toContain(words)
    })
  }
})

test('nothing the server said is repeated', () => {
  const canary = 'canary-password-7Q'
  for (const given of [
    login(`3 NO cannot LOGIN ann@mail.test ${canary}`, canary),
    error({ responseStatus: 'BAD', responseText: canary, executedCommand: canary }),
    error({ code: `X ${canary}`, reason: canary }),
    error({ responseStatus: 'NO', response: `[OVERQUOTA] ${canary}` }),
    new Error(canary),
  ]) {
    const result = toImapError(given)
    expect(`${result.message} ${result.stack} ${JSON.stringify(result)}`).not.toContain(canary)
    expect(result.cause).toBeUndefined()
  }
})

const { retryMs } = DEFAULT_TIMING
const MINUTE = 60_000

function seconds(kind: ImapErrorKind, failures: number, random: number): number {
  return retryDelayMs(kind, failures, { retryMs, random }) / 1_000
}

describe('retry delay', () => {
  for (const [kind, failures, least, most] of [
    ['lost', 1, 0.5, 1],
    ['lost', 2, 1, 2],
    ['unreachable', 5, 8, 16],
    ['lost', 50, 150, 300],
    ['certificate', 5_000, 150, 300],
    ['throttled', 1, 900, 1_125],
    ['throttled', 3, 3_600, 4_500],
    ['throttled', 50, 14_400, 18_000],
    ['login', 1, 300, 375],
    ['login', 9, 14_400, 18_000],
  ] as const) {
    test(`${kind}, failure ${failures}: ${least} to ${most} seconds`, () => {
      expect(seconds(kind, failures, 0)).toBe(least)
      expect(seconds(kind, failures, 1)).toBe(most)
    })
  }
})

test('a rate-limited account is never retried within 15 minutes', () => {
  for (let failures = 1; failures < 100; failures += 1) {
    expect(retryDelayMs('throttled', failures, { retryMs, random: 0 })).toBeGreaterThanOrEqual(
      15 * MINUTE,
    )
  }
})
