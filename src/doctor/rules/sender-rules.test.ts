import { describe, expect, test } from 'vitest'
import type { Lookup } from './result.ts'
import { evaluateDmarc, evaluateSpf } from './sender-rules.ts'

const found = <T = never>(...records: T[]): Lookup<T> => ({ records })
const DOMAIN = 'box.example.org'
const HOST = 'mx.example.org'

const spf = (terms: string) => `box.example.org. 3600 IN TXT "v=spf1 ${terms}"`
const NEVER = spf('-all')

describe('SPF of a domain that only receives', () => {
  for (const [records, status, fix] of [
    [['v=spf1 -all'], 'ok', ''],
    [['google-site-verification=1', 'v=spf1 -all'], 'ok', ''],
    [['v=spf1 include:_spf.example.net -all'], 'ok', ''],
    [['v=spf1 redirect=_spf.example.net'], 'ok', ''],
    [[], 'warning', NEVER],
    [['v=spf10 -all'], 'warning', NEVER],
    [['v=spf1 +all'], 'warning', NEVER],
    [['v=spf1 ~all'], 'warning', NEVER],
    [['v=spf1 mx'], 'warning', NEVER],
    [['v=spf1 -all', 'v=spf1 mx -all'], 'failure', `Keep only one: ${NEVER}`],
    [['v=spf1 ipv4:203.0.113.7 -all'], 'failure', NEVER],
    [['v=spf1 ip4:999.1.1.1 -all'], 'failure', NEVER],
  ] as const) {
    test(`${records.join(' and ') || 'no record'}: ${status}`, () => {
      const result = evaluateSpf(DOMAIN, found(...records), undefined)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})

describe('SPF of a domain that sends', () => {
  const OURS = 'out.example.org'
  const PROVIDER = 'smtp.provider.example'
  // Of this machine, which has the domain and its MX record.
  const own = ['203.0.113.7', '2001:db8::7']
  const servers = {
    [OURS]: ['198.51.100.9'],
    'mail.example.org': own,
    [PROVIDER]: ['192.0.2.25'],
    '127.0.0.1': own,
    localhost: own,
    '203.0.113.99': ['203.0.113.99'],
    '2001:db8::99': ['2001:db8::99'],
  }
  for (const [server, records, status, fix] of [
    [OURS, ['v=spf1 a:out.example.org -all'], 'ok', ''],
    [OURS, ['v=spf1 a:out.example.org ~all'], 'ok', ''],
    [OURS, ['v=spf1 ip4:198.51.100.0/24 -all'], 'ok', ''],
    [OURS, ['v=spf1 include:_spf.example.net -all'], 'ok', ''],
    [OURS, ['v=spf1 redirect=_spf.example.net'], 'ok', ''],
    [OURS, ['v=spf1 -all'], 'failure', spf('a:out.example.org -all')],
    [OURS, [], 'warning', spf('a:out.example.org -all')],
    [OURS, ['v=spf1 mx -all'], 'warning', spf('a:out.example.org mx -all')],
    [OURS, ['v=spf1 a -all'], 'warning', spf('a:out.example.org a -all')],
    [
      OURS,
      ['v=spf1 mx:out.example.org -all'],
      'warning',
      spf('a:out.example.org mx:out.example.org -all'),
    ],
    ['mail.example.org', ['v=spf1 mx -all'], 'ok', ''],
    ['mail.example.org', ['v=spf1 A:box.example.org -all'], 'ok', ''],
    [PROVIDER, ['v=spf1 mx -all'], 'warning', spf('include:SPF_OF_PROVIDER mx -all')],
    ['203.0.113.99', ['v=spf1 mx -all'], 'warning', spf('ip4:203.0.113.99 mx -all')],
    ['203.0.113.99', ['v=spf1 mx/24 -all'], 'ok', ''],
    ['203.0.113.99', ['v=spf1 a//64 -all'], 'warning', spf('ip4:203.0.113.99 a//64 -all')],
    ['2001:db8::99', ['v=spf1 a//64 -all'], 'ok', ''],
    [
      OURS,
      ['v=spf1 ip4:203.0.113.7 ~all'],
      'warning',
      spf('a:out.example.org ip4:203.0.113.7 ~all'),
    ],
    [
      OURS,
      ['v=spf1 -a:out.example.org -all'],
      'warning',
      spf('a:out.example.org -a:out.example.org -all'),
    ],
    [OURS, ['v=spf1 mx +all'], 'warning', spf('a:out.example.org mx -all')],
    [OURS, ['v=spf1 mx ip:1 -all'], 'failure', spf('a:out.example.org mx -all')],
    [
      OURS,
      ['v=spf1 include:_spf.example.net ~all', 'v=spf1 mx -all'],
      'failure',
      `Merge them: ${spf('a:out.example.org include:_spf.example.net mx ~all')}`,
    ],
    [PROVIDER, ['v=spf1 include:spf.provider.example -all'], 'ok', ''],
    [PROVIDER, ['v=spf1 -all'], 'failure', spf('include:SPF_OF_PROVIDER -all')],
    ['127.0.0.1', ['v=spf1 mx -all'], 'ok', ''],
    ['127.0.0.1', ['v=spf1 a:mx.example.org -all'], 'ok', ''],
    ['127.0.0.1', ['v=spf1 mx +all'], 'warning', spf('mx -all')],
    ['localhost', [], 'warning', spf('a:mx.example.org -all')],
    ['203.0.113.99', [], 'warning', spf('ip4:203.0.113.99 -all')],
  ] as const) {
    test(`through ${server}, ${records.join(' and ') || 'no record'}: ${status}`, () => {
      const sending = { server, addresses: servers[server], a: own, mx: own, host: HOST }
      const result = evaluateSpf(DOMAIN, found(...records), sending)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }

  for (const [unknown, terms] of [
    ['addresses', 'ip4:203.0.113.7'],
    ['addresses', 'mx'],
    ['mx', 'mx'],
    ['a', 'a'],
  ] as const) {
    test(`${terms} may name the server if DNS does not answer (${unknown}), but a new record names it`, () => {
      const known = { server: OURS, addresses: servers[OURS], a: own, mx: own, host: HOST }
      const sending = { ...known, [unknown]: undefined }
      expect(evaluateSpf(DOMAIN, found(`v=spf1 ${terms} -all`), sending).status).toBe('ok')
      expect(evaluateSpf(DOMAIN, found(`v=spf1 ${terms} +all`), sending).fix).toContain(
        spf(`a:out.example.org ${terms} -all`),
      )
    })
  }
})

const REJECT = '_dmarc.box.example.org. 3600 IN TXT "v=DMARC1; p=reject"'
const NONE = '"v=DMARC1; p=none; rua=mailto:postmaster@box.example.org"'

describe('DMARC', () => {
  const LATE = { error: 'ETIMEOUT' }
  for (const [sends, own, parent, status, fix] of [
    [false, ['v=DMARC1; p=reject'], [], 'ok', ''],
    [false, ['v=DMARC1;p=REJECT;rua=mailto:a@b.example'], [], 'ok', ''],
    [false, [], ['v=DMARC1; p=reject'], 'ok', ''],
    [false, [], ['v=DMARC1; p=none; sp=reject'], 'ok', ''],
    [false, [], ['v=DMARC1; p=reject; sp=none'], 'warning', REJECT],
    [false, [], [], 'warning', REJECT],
    [false, ['v=DMARC1; p=none'], ['v=DMARC1; p=reject'], 'warning', REJECT],
    [false, ['v=DMARC1; p=quarantine'], [], 'warning', REJECT],
    [false, ['v=DMARC1; p=reject; pct=0'], [], 'warning', REJECT],
    [false, ['v=dmarc1; p=reject'], [], 'warning', REJECT],
    [false, ['v=DMARC1'], [], 'failure', REJECT],
    [false, ['v=DMARC1; p=maybe'], [], 'failure', REJECT],
    [false, ['v=DMARC1; p=reject', 'v=DMARC1; p=none'], [], 'failure', `Keep only one: ${REJECT}`],
    [true, ['v=DMARC1; p=none'], [], 'ok', ''],
    [true, [], [], 'warning', NONE],
    [true, ['v=DMARC1; p=maybe'], [], 'failure', NONE],
    [false, LATE, ['v=DMARC1; p=none'], 'skipped', ''],
    [false, [], LATE, 'skipped', ''],
  ] as const) {
    const role = sends ? 'sends' : 'only receives'
    const text = (one: readonly string[] | object) => ('length' in one ? one.join(' and ') : 'late')
    test(`a domain that ${role}, ${text(own) || 'no record'}, parent ${text(parent) || 'without'}: ${status}`, () => {
      const lookup = (one: readonly string[] | { error: string }): Lookup<string> =>
        'error' in one ? one : found(...one)
      const context = { parents: [lookup(parent)], sending: sends }
      const result = evaluateDmarc(DOMAIN, lookup(own), context)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})
