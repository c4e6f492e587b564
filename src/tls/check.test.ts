import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { tempFolder } from '../../test/kit/store/stores.ts'
import { certificatesCheck, evaluateCertificates } from './check.ts'
import { NO_ATTEMPTS } from './rules.ts'

const DAY = 86_400_000
const now = new Date('2026-05-01T12:00:00Z')
const ports = { httpPort: 8080, httpsPort: 443, now }
const failed = { failures: 2, nextAt: now.getTime() + 60_000, error: 'unauthorized: 404' }

/** A certificate of 90 days, of which this many are over. */
function certificate(age: number) {
  const notBefore = new Date(now.getTime() - age * DAY)
  return { notBefore, notAfter: new Date(notBefore.getTime() + 90 * DAY), fingerprint: 'a' }
}

describe('the check of certificates', () => {
  const files = ['box.test.pem', 'box.test.attempts.json', 'ca.account.json']
  test.for(files)('fails if %s cannot be read, and says what deleting one means', async (file) => {
    const folder = tempFolder()
    onTestFinished(folder.remove)
    // As root, any file can be read, but no folder.
    mkdirSync(join(folder.path, 'tls', file), { recursive: true })
    const result = await certificatesCheck.run({
      settings: {
        data: folder.path,
        store: 'sqlite:',
        http: { baseUrl: 'https://box.test', mtaSts: 'off', port: 80 },
        smtp: { hostname: 'box.test', tlsCert: '' },
        acme: { on: true, email: '', directory: '', caFile: '', lookMs: 1, httpsPort: 443 },
      },
      store: { listDomains: async () => [], listTlsEntries: async () => [] },
      now: () => now,
    })
    expect(result.status).toBe('failure')
    expect(result.seen).toContain(`${file} cannot be read: EISDIR`)
    expect(result.fix).toMatch(/user of the service.*self-signed.*new key: then update TLSA/)
  })

  test('names the one that failed, not one that waits for it', () => {
    const names = [
      { name: 'box.test', certificate: undefined, attempts: NO_ATTEMPTS },
      { name: 'mx.box.test', certificate: undefined, attempts: failed },
    ]
    expect(evaluateCertificates(names, ports).seen).toMatch(/^mx\.box\.test: unauthorized/)
  })

  for (const [what, name, status, seen] of [
    [
      'is content with a new one',
      { certificate: certificate(1), attempts: NO_ATTEMPTS },
      'ok',
      /^2 names, until 2026-07-29T/,
    ],
    [
      'is content while one is renewed',
      { certificate: certificate(61), attempts: NO_ATTEMPTS },
      'ok',
      /^2 names/,
    ],
    [
      'warns if one is not renewed in time',
      { certificate: certificate(61), attempts: failed },
      'warning',
      /^mx\.box\.test: not renewed: unauthorized: 404; next attempt at 2026-05-01T12:01:00Z$/,
    ],
    [
      'warns before the first attempt',
      { certificate: undefined, attempts: NO_ATTEMPTS },
      'warning',
      /^mx\.box\.test: none yet$/,
    ],
    [
      'fails if none was obtained',
      { certificate: undefined, attempts: failed },
      'failure',
      /^mx\.box\.test: unauthorized: 404; next/,
    ],
    [
      'fails if one has expired',
      { certificate: certificate(91), attempts: failed },
      'failure',
      /^mx\.box\.test: expired; unauthorized/,
    ],
  ] as const) {
    test(what, () => {
      const good = { name: 'box.test', certificate: certificate(1), attempts: NO_ATTEMPTS }
      const result = evaluateCertificates([good, { name: 'mx.box.test', ...name }], ports)
      expect(result.status).toBe(status)
      expect(result.seen).toMatch(seen)
      if (status === 'failure') expect(result.fix).toMatch(/mx\.box\.test.*80 \(here 8080\)/)
    })
  }
})
