import { describe, expect, test } from 'vitest'
import type { MailDomain, parseHost } from '../base/address.ts'
import {
  type Attempts,
  beginAttempt,
  certificateNames,
  completeAttempt,
  failAttempt,
  NO_ATTEMPTS,
  nextChallenge,
  renewalTime,
} from './rules.ts'

type Host = NonNullable<ReturnType<typeof parseHost>>

const DAY = 86_400_000
const NOW = new Date('2026-05-01T12:00:00Z')

function domain(name: string, change: Partial<MailDomain> = {}): MailDomain {
  return {
    ...{ id: 1, name: name as Host, wildcard: false, active: true, removed: false },
    ...{ sessions: true, reader: true, ttlSeconds: undefined },
    ...change,
  }
}

describe('certificates are obtained for', () => {
  const hosts = {
    baseUrl: 'https://box.test',
    smtpHost: 'mx.box.test',
    mtaSts: true,
    domains: [domain('box.test'), domain('other.test')],
  }
  for (const [what, change, expected] of [
    [
      'the page, the SMTP server and the policies of MTA-STS',
      {},
      ['box.test', 'mx.box.test', 'mta-sts.box.test', 'mta-sts.other.test'],
    ],
    ['a name once', { smtpHost: 'box.test', mtaSts: false }, ['box.test']],
    ['no policy that is not served', { mtaSts: false }, ['box.test', 'mx.box.test']],
    [
      'no SMTP host with a certificate of the operator',
      { smtpHost: undefined, mtaSts: false },
      ['box.test'],
    ],
    [
      'no wildcard, no removed or inactive domain, and none of a key holder',
      {
        domains: [
          domain('wild.test', { wildcard: true }),
          domain('removed.test', { removed: true }),
          domain('idle.test', { active: false }),
          domain('own.test', { owner: 'key_1' }),
        ],
      },
      ['box.test', 'mx.box.test'],
    ],
    [
      'no address, and no name without a dot',
      { baseUrl: 'https://[::1]:8443', smtpHost: 'mx', domains: [] },
      [],
    ],
    ['no IPv4 address', { baseUrl: 'https://192.0.2.1', smtpHost: '192.0.2.1', domains: [] }, []],
    [
      'no name of a private network or an example, and none with an underscore',
      { smtpHost: 'mx.lan', baseUrl: 'https://a_b.box.test', domains: [domain('pond.example')] },
      [],
    ],
  ] as const) {
    test(what, () => {
      expect(certificateNames({ ...hosts, ...change })).toStrictEqual(expected)
    })
  }
})

describe('a certificate of 90 days is renewed', () => {
  const notBefore = NOW
  const notAfter = new Date(NOW.getTime() + 90 * DAY)
  const dayOf = (fingerprint: string, issuedDay = 0, nowDay = issuedDay) => {
    const [issuedAt = 0, now = 0] = [issuedDay, nowDay].map((day) => NOW.getTime() + day * DAY)
    const due = renewalTime({ notBefore, notAfter, fingerprint }, { issuedAt }, new Date(now))
    return (due.getTime() - NOW.getTime()) / DAY
  }

  test('after two thirds of its life, or up to three days earlier', () => {
    const days = Array.from({ length: 200 }, (_, at) => dayOf(String(at)))
    expect(Math.max(...days)).toBeLessThanOrEqual(60)
    expect(Math.min(...days)).toBeGreaterThanOrEqual(57)
    expect(Math.max(...days) - Math.min(...days)).toBeGreaterThan(2)
    expect(dayOf('a')).toBe(dayOf('a'))
  })

  test('not at once by a clock that is a year ahead', () => {
    expect(dayOf('a', 365)).toBe(365 + 30)
  })

  test('in time once a clock that was ahead has been corrected', () => {
    expect(dayOf('a', 60, 1)).toBe(dayOf('a'))
  })
})

describe('after failures', () => {
  const failure = { message: 'no', type: '', retryAfterMs: undefined, directory: 'https://ca.test' }
  const wait = ({ nextAt }: Attempts) => (nextAt - NOW.getTime()) / 60_000

  test('the wait doubles from two minutes to a day', () => {
    const waits: number[] = []
    let attempts = NO_ATTEMPTS
    for (let count = 0; count < 12; count += 1) {
      attempts = failAttempt(beginAttempt(attempts, NOW), failure, NOW)
      waits.push(wait(attempts))
    }
    expect(waits).toStrictEqual([2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440, 1_440])
  })

  test('there are five attempts in the first hour if neither challenge succeeds', () => {
    let attempts = NO_ATTEMPTS
    let now = NOW
    const times: number[] = []
    while (now.getTime() < NOW.getTime() + 3_600_000) {
      times.push((now.getTime() - NOW.getTime()) / 60_000)
      const began = beginAttempt(attempts, now)
      attempts = failAttempt(began, { ...failure, type: 'connection' }, now)
      now = new Date(attempts.nextAt)
    }
    expect(times).toStrictEqual([0, 0, 4, 12, 28])
  })

  test('an attempt that was interrupted counts as one', () => {
    expect(wait(beginAttempt(NO_ATTEMPTS, NOW))).toBe(2)
  })

  for (const [what, change, minutes] of [
    ['a rate limit without a time is an hour', { type: 'rateLimited' }, 60],
    ['the time that the CA names is kept', { type: 'rateLimited', retryAfterMs: 7_200_000 }, 120],
    ['a shorter time does not shorten the wait', { retryAfterMs: 1_000 }, 2],
    ['the other challenge is next, without a wait', { type: 'connection' }, 0],
    ['it waits as well if the CA says so', { type: 'connection', retryAfterMs: 60_000 }, 1],
  ] as const) {
    test(what, () => {
      const began = beginAttempt(NO_ATTEMPTS, NOW)
      expect(wait(failAttempt(began, { ...failure, ...change }, NOW))).toBe(minutes)
    })
  }

  test('the other challenge is next, and the one that worked is first', () => {
    const first = beginAttempt(NO_ATTEMPTS, NOW)
    expect([NO_ATTEMPTS, first, beginAttempt(first, NOW)].map(nextChallenge)).toStrictEqual([
      'http-01',
      'tls-alpn-01',
      'http-01',
    ])
    expect(nextChallenge(completeAttempt('tls-alpn-01', NOW))).toBe('tls-alpn-01')
    expect(nextChallenge(beginAttempt(completeAttempt('tls-alpn-01', NOW), NOW))).toBe('http-01')
  })
})
