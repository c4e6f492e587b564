import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Lookup } from './result.ts'
import {
  evaluateCertificate,
  evaluateMtaSts,
  evaluateTlsa,
  type MtaStsFacts,
  matchesName,
  type ServedCertificate,
} from './tls-rules.ts'

const HOST = 'mx.example.org'
const DOMAIN = 'box.example.org'
const NOW = new Date('2026-03-01T12:00:00Z')
const found = <T = never>(...records: T[]): Lookup<T> => ({ records })
const days = (count: number) => new Date(NOW.getTime() + count * 86_400_000)

const LEAF = { der: Buffer.from('leaf'), publicKey: Buffer.from('leaf key') }
const ISSUER = { der: Buffer.from('issuer'), publicKey: Buffer.from('issuer key') }
const CERTIFICATE: ServedCertificate = {
  names: [HOST],
  notBefore: days(-10),
  notAfter: days(80),
  untrusted: '',
  chain: [LEAF, ISSUER],
}

/** With this many days left. */
const ofNinetyDays = (left: number) => ({ notBefore: days(left - 90), notAfter: days(left) })

describe('certificate', () => {
  for (const [name, changed, status, seen] of [
    ['valid', {}, 'ok', 'for mx.example.org, valid until 2026-05-20'],
    ['with a wildcard', { names: ['*.example.org'] }, 'ok', '*.example.org'],
    ['expired', { notAfter: NOW }, 'failure', 'expired'],
    ['one second left', { notAfter: new Date(NOW.getTime() + 1_000) }, 'warning', 'in 0 days'],
    ['expires within two weeks', ofNinetyDays(13), 'warning', 'expires in 13 days'],
    ['two weeks left', ofNinetyDays(14), 'ok', ''],
    ['of six days, half used', { notBefore: days(-3), notAfter: days(3) }, 'ok', ''],
    [
      'of six days, used up',
      { notBefore: days(-5.5), notAfter: days(0.5) },
      'warning',
      'expires in 0 days',
    ],
    [
      'without its issuer',
      { untrusted: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', chain: [LEAF] },
      'warning',
      'sent without its issuer',
    ],
    ['not valid yet', { notBefore: days(1) }, 'failure', 'not valid before'],
    ['for another name', { names: ['www.example.org'] }, 'warning', 'not for mx.example.org'],
    ['without a name', { names: [] }, 'warning', 'no name'],
    ['self-signed', { untrusted: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'warning', 'not verifiable'],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluateCertificate(HOST, { ...CERTIFICATE, ...changed }, NOW)
      expect(result).toMatchObject({ status, seen: expect.stringContaining(seen) })
      expect(result.fix !== '').toBe(status !== 'ok')
      expect(result.fix, 'only root may read these files').not.toContain('=/etc/letsencrypt')
    })
  }

  test('self-signed: a certificate by the service itself is proposed first', () => {
    const { fix } = evaluateCertificate(HOST, { ...CERTIFICATE, untrusted: 'SELF_SIGNED' }, NOW)
    expect(fix).toMatch(/^mayfly setup --acme, .*: certbot certonly /)
  })

  test('obtained by the service: nobody is sent to certbot', () => {
    for (const changed of [{ notAfter: NOW }, { names: [] }, { untrusted: 'SELF_SIGNED' }]) {
      const options = { isObtained: true }
      const { fix } = evaluateCertificate(HOST, { ...CERTIFICATE, ...changed }, NOW, options)
      expect(fix).toMatch(/^This service obtains/)
    }
  })

  for (const [name, changed, status] of [
    ['valid', {}, 'ok'],
    ['for another name', { names: ['www.example.org'] }, 'failure'],
    ['self-signed', { untrusted: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'failure'],
  ] as const) {
    test(`${name}, with a policy that is enforced: ${status}`, () => {
      const options = { isEnforced: true }
      const result = evaluateCertificate(HOST, { ...CERTIFICATE, ...changed }, NOW, options)
      expect(result.status).toBe(status)
    })
  }

  for (const [isEnforced, status] of [
    [false, 'ok'],
    [true, 'failure'],
  ] as const) {
    test(`self-signed with a TLSA record, policy ${isEnforced ? '' : 'not '}enforced: ${status}`, () => {
      const certificate = { ...CERTIFICATE, untrusted: 'DEPTH_ZERO_SELF_SIGNED_CERT' }
      const options = { isEnforced, isPinned: true }
      expect(evaluateCertificate(HOST, certificate, NOW, options).status).toBe(status)
    })
  }

  for (const [pattern, host, matches] of [
    ['mx.example.org', 'MX.example.org', true],
    ['*.example.org', 'mx.example.org', true],
    ['*.example.org', 'a.mx.example.org', false],
    ['*.example.org', 'example.org', false],
    ['*.org', 'localhost', false],
  ] as const) {
    test(`${pattern} ${matches ? 'matches' : 'does not match'} ${host}`, () =>
      expect(matchesName(pattern, host)).toBe(matches))
  }
})

describe('TLSA', () => {
  const record = (usage: number, selector: number, match: number, data: string) =>
    found({ usage, selector, match, data })
  const keyHash = hash('sha256', LEAF.publicKey)
  const publish = `_25._tcp.mx.example.org. 3600 IN TLSA 3 1 1 ${keyHash}`
  for (const [name, tlsa, status, fix] of [
    ['none', found(), 'skipped', ''],
    ['the key', record(3, 1, 1, keyHash), 'ok', ''],
    ['the key in capitals', record(3, 1, 1, keyHash.toUpperCase()), 'ok', ''],
    ['the key by SHA-512', record(3, 1, 2, hash('sha512', LEAF.publicKey)), 'ok', ''],
    ['the certificate', record(3, 0, 1, hash('sha256', LEAF.der)), 'ok', ''],
    ['the whole certificate', record(3, 0, 0, LEAF.der.toString('hex')), 'ok', ''],
    ['the issuer', record(2, 1, 1, hash('sha256', ISSUER.publicKey)), 'ok', ''],
    [
      'the issuer as end entity',
      record(3, 1, 1, hash('sha256', ISSUER.publicKey)),
      'failure',
      publish,
    ],
    ['another key', record(3, 1, 1, hash('sha256', 'old')), 'failure', publish],
    ['a usage for web sites', record(1, 1, 1, keyHash), 'warning', publish],
    ['no answer', { error: 'ESERVFAIL' }, 'warning', 'dig TLSA _25._tcp.mx.example.org'],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluateTlsa(HOST, tlsa, CERTIFICATE)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }

  for (const [name, isSigned, status] of [
    ['signed', true, 'ok'],
    ['not signed', false, 'warning'],
    ['of a resolver that does not say', undefined, 'ok'],
  ] as const) {
    test(`the key, ${name}: ${status}`, () =>
      expect(evaluateTlsa(HOST, record(3, 1, 1, keyHash), CERTIFICATE, isSigned).status).toBe(
        status,
      ))
  }
})

describe('MTA-STS', () => {
  const STS = found('v=STSv1; id=20260301')
  const FACTS: MtaStsFacts = {
    host: HOST,
    backups: [],
    setting: 'off',
    policy: undefined,
    now: NOW,
  }
  const policy = (body: string, status = 200) => ({ status, body })
  const GOOD = policy('version: STSv1\r\nmode: enforce\r\nmx: mx.example.org\r\nmax_age: 86400\r\n')
  for (const [name, txt, fetched, status, fix] of [
    ['not used', found<string>(), undefined, 'skipped', ''],
    ['right', STS, GOOD, 'ok', ''],
    ['a wildcard', STS, policy(GOOD.body.replace('mx.', '*.')), 'ok', ''],
    [
      'another host',
      STS,
      policy(GOOD.body.replace('mx.', 'old.')),
      'failure',
      'mx: mx.example.org',
    ],
    [
      'another host while testing',
      STS,
      policy(GOOD.body.replace('mx.', 'old.').replace('enforce', 'testing')),
      'warning',
      'mx: mx.example.org',
    ],
    ['switched off', STS, policy('version: STSv1\nmode: none\nmax_age: 0\n'), 'ok', ''],
    ['too brief', STS, policy(GOOD.body.replace('86400', '86399')), 'warning', 'max_age: 604800'],
    ['as text', STS, { ...GOOD, contentType: 'text/plain; charset=utf-8' }, 'ok', ''],
    ['as a page', STS, { ...GOOD, contentType: 'text/html' }, 'warning', 'text/plain'],
    ['moved', STS, { ...policy('', 301), location: '/x' }, 'failure', 'do not follow redirects'],
    ['no mode', STS, policy('version: STSv1\nmax_age: 0\n'), 'failure', 'mode: testing'],
    [
      'not found',
      STS,
      policy('', 404),
      'failure',
      'https://mta-sts.box.example.org/.well-known/mta-sts.txt',
    ],
    [
      'unreachable from here',
      STS,
      { error: 'ETIMEDOUT', cause: 'network' },
      'warning',
      'curl https://mta-sts.box.example.org',
    ],
    [
      'a bad certificate',
      STS,
      { error: 'CERT_HAS_EXPIRED', cause: 'certificate' },
      'failure',
      'a valid certificate for mta-sts.box.example.org',
    ],
    ['an id with a dash', found('v=STSv1; id=2026-03-01'), undefined, 'failure', '"v=STSv1; id='],
    ['two records', found('v=STSv1; id=1', 'v=STSv1; id=2'), undefined, 'failure', 'Replace it'],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluateMtaSts(DOMAIN, txt, { ...FACTS, policy: fetched })
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }

  const TESTING = policy(GOOD.body.replace('enforce', 'testing'))

  test('without a proxy, no fix is for one', () => {
    for (const fetched of [TESTING, { error: 'CERT', cause: 'certificate' } as const]) {
      const facts: MtaStsFacts = { ...FACTS, setting: 'enforce', policy: fetched, servesTls: true }
      const { status, fix } = evaluateMtaSts(DOMAIN, STS, facts)
      expect([status === 'ok', /proxy/.test(fix)]).toEqual([false, false])
    }
  })

  for (const [name, txt, changed, status, fix] of [
    [
      'on, but without a record',
      found<string>(),
      { setting: 'testing' },
      'warning',
      '_mta-sts.box.example.org. 3600 IN TXT "v=STSv1; id=202603011200"',
    ],
    ['the mode that is set', STS, { setting: 'enforce', policy: GOOD }, 'ok', ''],
    ['another mode than set', STS, { setting: 'enforce', policy: TESTING }, 'warning', 'proxy'],
    [
      'not found while enforced',
      STS,
      { setting: 'enforce', policy: policy('', 404) },
      'failure',
      'mode: enforce',
    ],
    ['a backup MX that it allows', STS, { backups: [HOST], policy: GOOD }, 'ok', ''],
    [
      'a backup MX that it does not allow',
      STS,
      { backups: ['mx2.example.org'], policy: GOOD },
      'warning',
      'Remove the MX record of mx2.example.org',
    ],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluateMtaSts(DOMAIN, txt, { ...FACTS, ...changed })
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})
