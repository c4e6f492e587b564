import { describe, expect, test } from 'vitest'
import { type FaultKind, faultOf, ImapFault, pauseAfter } from './errors.ts'
import { USUAL_TEMPO } from './options.ts'

const error = (facts: Record<string, unknown>) => Object.assign(new Error('Command failed'), facts)
const login = (response: string, code?: string) =>
  error({ authenticationFailed: true, response, ...(code ? { serverResponseCode: code } : {}) })

describe('what an error means', () => {
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
      'too many connections',
    ],
    [
      'Gmail, bandwidth',
      error({ responseStatus: 'NO', serverResponseCode: 'OVERQUOTA' }),
      'throttled',
      'used up',
    ],
    [
      'Gmail, bandwidth, unread',
      error({
        responseStatus: 'NO',
        response: { attributes: [{ section: [{ value: 'OVERQUOTA' }] }] },
      }),
      'throttled',
      'used up',
    ],
    [
      'Gmail, good-bye',
      error({ code: 'NoConnection', reason: 'Account exceeded command or bandwidth limits.' }),
      'throttled',
      'used up',
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
      'too many connections',
    ],
    [
      'Dovecot, wrong password',
      login('1 NO [AUTHENTICATIONFAILED] Authentication failed.'),
      'login',
      'does not accept',
    ],
    [
      'Dovecot, its own trouble',
      login('1 NO [UNAVAILABLE] Temporary authentication failure.', 'UNAVAILABLE'),
      'unreachable',
      'cannot log anybody in',
    ],
    ['a refusal', error({ responseStatus: 'NO', responseText: 'no' }), 'lost', 'refuses'],
    [
      'nobody there',
      error({ code: 'ECONNREFUSED' }),
      'unreachable',
      'cannot be reached (ECONNREFUSED)',
    ],
    ['no such name', error({ code: 'ENOTFOUND' }), 'unreachable', 'cannot be reached (ENOTFOUND)'],
    ['no greeting', error({ code: 'GREETING_TIMEOUT' }), 'unreachable', 'cannot be reached'],
    [
      'a self-made certificate',
      error({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      'certificate',
      'certificate',
    ],
    [
      'another name in it',
      error({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
      'certificate',
      'certificate',
    ],
    ['an old one', error({ code: 'CERT_HAS_EXPIRED' }), 'certificate', 'certificate'],
    ['no TLS', error({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }), 'unreachable', 'no TLS'],
    ['a literal too large', error({ code: 'LiteralTooLarge' }), 'doubtful', 'cannot be read'],
    ['nonsense', error({ code: 'ParserError11' }), 'doubtful', 'cannot be read'],
    ['the end', error({ code: 'NoConnection' }), 'lost', 'the connection ended (NoConnection)'],
    ['nothing known', undefined, 'lost', 'the connection ended'],
    ['our own', new ImapFault('doubtful', 'as it is'), 'doubtful', 'as it is'],
  ] as const) {
    test(name, () => {
      const fault = faultOf(given)
      expect(fault.kind).toBe(kind)
      expect(fault.message).toContain(words)
    })
  }
})

test('nothing that the server said is repeated', () => {
  const canary = 'canary-password-7Q'
  for (const given of [
    login(`3 NO cannot LOGIN ann@mail.test ${canary}`, canary),
    error({ responseStatus: 'BAD', responseText: canary, executedCommand: canary }),
    error({ code: `X ${canary}`, reason: canary }),
    error({ responseStatus: 'NO', response: `[OVERQUOTA] ${canary}` }),
    new Error(canary),
  ]) {
    const fault = faultOf(given)
    expect(`${fault.message} ${fault.stack} ${JSON.stringify(fault)}`).not.toContain(canary)
    expect(fault.cause).toBeUndefined()
  }
})

const { pause } = USUAL_TEMPO
const MINUTE = 60_000

function seconds(kind: FaultKind, failures: number, random: number): number {
  return pauseAfter(kind, failures, { pause, random }) / 1_000
}

describe('how long to wait', () => {
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
    test(`${kind}, ${failures} times: from ${least} to ${most} seconds`, () => {
      expect(seconds(kind, failures, 0)).toBe(least)
      expect(seconds(kind, failures, 1)).toBe(most)
    })
  }
})

test('a limit of the server is never tried again within a quarter of an hour', () => {
  for (let failures = 1; failures < 100; failures += 1) {
    expect(pauseAfter('throttled', failures, { pause, random: 0 })).toBeGreaterThanOrEqual(
      15 * MINUTE,
    )
  }
})
