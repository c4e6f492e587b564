import { describe, expect, test } from 'vitest'
import { evaluateBaseUrl, evaluateHttp } from './http-rules.ts'
import {
  evaluateAdminToken,
  evaluateClock,
  evaluateDomains,
  evaluateLedger,
  evaluateProxy,
  evaluateSettings,
  evaluateStore,
} from './installation-rules.ts'
import { evaluateDataDirectory } from './machine-rules.ts'

const MB = 1024 * 1024
const NOW = new Date('2026-03-01T12:00:00Z')
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000)

const FAULT = { seen: 'wrong', fix: 'do this' }

describe('data directory', () => {
  const data = {
    path: '/var/lib/mayfly',
    use: 'mail',
    exists: true,
    fault: undefined,
    foreign: undefined,
    freeInodes: 1_000_000,
    uid: 900,
    ownUid: 900,
    mode: 0o700,
    freeBytes: 2_000 * MB,
    minFreeBytes: 512 * MB,
    fsyncMs: 1.2,
  } as const
  for (const [name, changed, status, fix] of [
    ['right', {}, 'ok', ''],
    ['unusable', { fault: FAULT }, 'failure', 'do this'],
    ['with files of another user', { foreign: FAULT }, 'warning', 'do this'],
    ['nearly without inodes', { freeInodes: 99 }, 'warning', 'df -i /var/lib/mayfly'],
    ['without a limit on inodes', { freeInodes: undefined }, 'ok', ''],
    ['of another user', { uid: 901 }, 'failure', 'setpriv --reuid 901'],
    ['seen by root', { ownUid: 0, fsyncMs: undefined }, 'ok', ''],
    ['readable by others', { mode: 0o755 }, 'warning', 'chmod 700 /var/lib/mayfly'],
    ['full', { freeBytes: 511 * MB }, 'failure', 'Free some space'],
    ['nearly full', { freeBytes: 1_023 * MB }, 'warning', 'Free some space'],
    ['slow', { fsyncMs: 51 }, 'warning', 'local SSD'],
    ['full and readable by others', { freeBytes: 0, mode: 0o755 }, 'failure', 'Free some space'],
    ['full, but only for a certificate', { freeBytes: 0, use: 'certificate' }, 'ok', ''],
    ['unusable, and not used', { fault: FAULT, use: 'nothing' }, 'skipped', ''],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluateDataDirectory({ ...data, ...changed })
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
      expect(result.fix, 'the service would lose its data').not.toContain('chown')
    })
  }

  test('of root, seen by the user of the service: it gets the directory', () =>
    expect(evaluateDataDirectory({ ...data, uid: 0 })).toMatchObject({
      status: 'failure',
      fix: expect.stringContaining('chown -R 900 /var/lib/mayfly'),
    }))
})

describe('ledger', () => {
  const complete = { unknownUntil: undefined, reason: '', pruned: false } as const
  for (const [name, state, status, seen] of [
    ['before the first start', undefined, 'skipped', 'created when the service starts'],
    ['complete', complete, 'ok', 'complete'],
    ['not needed', { ...complete, pruned: true }, 'ok', 'the pool is off'],
    [
      'incomplete',
      { ...complete, unknownUntil: hoursAgo(-1), reason: 'lost' },
      'warning',
      'until 2026-03-01 13:00:00 UTC',
    ],
  ] as const) {
    test(`${name}: ${status}`, () =>
      expect(evaluateLedger(state)).toMatchObject({
        status,
        seen: expect.stringContaining(seen),
      }))
  }
})

describe('clock', () => {
  for (const [synchronized, offsetMs, status] of [
    [true, undefined, 'ok'],
    [true, -60_000, 'ok'],
    [undefined, 1_000, 'ok'],
    [true, 60_001, 'failure'],
    [undefined, -61_000, 'failure'],
    [false, 0, 'warning'],
    [undefined, undefined, 'skipped'],
  ] as const) {
    test(`synchronized ${synchronized}, ${offsetMs} ms: ${status}`, () => {
      const reference = 'https://box.example.org'
      expect(evaluateClock({ synchronized, offsetMs, reference }).status).toBe(status)
    })
  }
})

describe('admin token', () => {
  for (const [token, open, status] of [
    ['', true, 'warning'],
    ['short', false, 'warning'],
    ['short', true, 'failure'],
    ['x'.repeat(20), false, 'ok'],
    ['x'.repeat(20), true, 'failure'],
  ] as const) {
    test(`${token.length} characters, metrics ${open ? 'open' : 'closed'}: ${status}`, () =>
      expect(evaluateAdminToken(token, open).status).toBe(status))
  }

  test('sent without TLS', () => {
    const { status, fix } = evaluateAdminToken('x'.repeat(20), false, 1)
    expect([status, fix]).toEqual(['warning', expect.stringMatching(/https.*another token/)])
  })
})

describe('HTTP', () => {
  const error = { status: 503, body: '{"status":"error"}' }
  const facts = { port: 8080, response: error, isRunning: true, storeFault: undefined }
  for (const [name, changed, status] of [
    ['answers', { response: { status: 200, body: '' } }, 'ok'],
    ['fails', {}, 'failure'],
    ['fails with the store, which is reported elsewhere', { storeFault: 'damaged' }, 'skipped'],
    ['has too many requests', { response: { ...error, status: 429 } }, 'skipped'],
    ['is another program', { response: { error: 'status 404', cause: 'network' } }, 'failure'],
    [
      'is not running, like SMTP',
      { response: { error: 'ECONNREFUSED', cause: 'network' }, isRunning: false },
      'skipped',
    ],
  ] as const) {
    test(`${name}: ${status}`, () =>
      expect(evaluateHttp({ ...facts, ...changed }).status).toBe(status))
  }
})

describe('settings', () => {
  for (const [name, report, status] of [
    ['right', { count: 70, changed: 3, unknown: [] }, 'ok'],
    ['unknown', { count: 70, changed: 3, unknown: ['MAYFLY_TYPO'] }, 'warning'],
    ['of a program', undefined, 'skipped'],
  ] as const) {
    test(`${name}: ${status}`, () => expect(evaluateSettings(report).status).toBe(status))
  }
})

describe('domains', () => {
  const facts = { domains: ['a.test'], exampleDomains: [], newDomains: [] }
  for (const [name, changed, status, fix] of [
    ['one', {}, 'ok', ''],
    ['examples beside', { exampleDomains: ['b.example'] }, 'warning', 'domain remove b.example'],
    ['none', { domains: [] }, 'failure', 'mayfly setup'],
    ['not added yet', { newDomains: ['b.test'] }, 'failure', 'systemctl restart mayfly'],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluateDomains({ ...facts, ...changed })
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})

describe('store', () => {
  for (const [isFile, isOpen, fault, status] of [
    [true, true, undefined, 'ok'],
    [false, true, undefined, 'ok'],
    [true, false, undefined, 'skipped'],
    [false, false, 'PostgreSQL cannot be reached', 'skipped'],
    [true, false, 'mail.db is damaged', 'failure'],
  ] as const) {
    const name = `${isFile ? 'SQLite' : 'PostgreSQL'}, ${isOpen ? 'open' : (fault ?? 'new')}`
    test(`${name}: ${status}`, () =>
      expect(evaluateStore({ isFile, isOpen, fault }).status).toBe(status))
  }
})

describe('base URL', () => {
  const local = '{"domains":[]}'
  const here = { status: 200, body: local }
  for (const [name, url, response, status] of [
    ['this service', 'https://box.example.org', here, 'ok'],
    ['not tried', 'https://box.example.org', undefined, 'ok'],
    ['on this machine', 'http://127.0.0.1:8080', here, 'ok'],
    ['none', '', undefined, 'warning'],
    ['without TLS', 'http://box.example.org', here, 'warning'],
    ['unreachable', 'https://box.example.org', { error: 'ETIMEDOUT', cause: 'network' }, 'warning'],
    [
      'a bad certificate',
      'https://box.example.org',
      { error: 'CERT_HAS_EXPIRED', cause: 'certificate' },
      'failure',
    ],
    ['another service', 'https://box.example.org', { status: 200, body: '{}' }, 'failure'],
    ['redirected', 'http://box.example.org', { status: 308, body: '' }, 'warning'],
    ['not found', 'https://box.example.org', { status: 404, body: '' }, 'failure'],
  ] as const) {
    test(`${name}: ${status}`, () =>
      expect(evaluateBaseUrl(url, { response, local, now: NOW }).status).toBe(status))
  }

  test('HTTPS by the service itself is a fix, too', () => {
    for (const url of ['', 'http://box.example.org:8080']) {
      const { fix } = evaluateBaseUrl(url, { response: undefined, local, now: NOW })
      expect(fix).toContain('mayfly setup --acme')
    }
  })

  test('without a proxy, no fix is for one', () => {
    const validTo = new Date(NOW.getTime() + 1)
    for (const response of [
      { error: 'CERT_HAS_EXPIRED', cause: 'certificate' } as const,
      { status: 404, body: '' },
      { status: 301, body: '', location: 'https://box.example.org/' },
      { status: 301, body: '', location: 'https://www.box.example.org/' },
      { ...here, validFrom: hoursAgo(2_000), validTo },
    ]) {
      const facts = { response, local, now: NOW, servesTls: true }
      const { status, fix } = evaluateBaseUrl('https://box.example.org', facts)
      expect(status).not.toBe('ok')
      expect(fix).toMatch(/^This service obtains|lead to this service/)
    }
  })
})

describe('proxy', () => {
  const facts = {
    baseUrl: 'https://box.example.org',
    trustProxy: ['127.0.0.1'],
    rateLimits: true,
    counted: '203.0.113.9',
  }
  for (const [name, changed, status, fix] of [
    ['clients are counted', {}, 'ok', ''],
    ['unknown', { counted: undefined }, 'ok', ''],
    ['no proxy', { baseUrl: 'http://box.example.org' }, 'skipped', ''],
    ['rates off', { rateLimits: false }, 'skipped', ''],
    ['none is trusted', { trustProxy: [] }, 'failure', 'Set MAYFLY_TRUST_PROXY'],
    [
      'another one is trusted',
      { counted: 'untrusted local proxy' },
      'failure',
      'MAYFLY_TRUST_PROXY',
    ],
    ['no forwarded address', { counted: null }, 'failure', 'X-Forwarded-For'],
    ['the proxy is counted', { counted: '127.0.0.1' }, 'failure', 'X-Forwarded-For'],
    ['everybody is trusted', { trustProxy: ['0.0.0.0/0'] }, 'failure', 'your proxy alone'],
    ['half of IPv6 is trusted', { trustProxy: ['2000::/3'] }, 'failure', 'your proxy alone'],
    ['a private network is trusted', { trustProxy: ['10.0.0.0/8'] }, 'ok', ''],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluateProxy({ ...facts, ...changed })
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})
