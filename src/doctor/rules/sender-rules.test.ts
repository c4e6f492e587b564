import { describe, expect, test } from 'vitest'
import type { Lookup } from './result.ts'
import { evaluateDmarc, evaluateSpf, senderOf } from './sender-rules.ts'

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
    [['v=spf1 ip4:2001:db8::7 -all'], 'failure', NEVER],
    [['v=spf1 ip6:203.0.113.7 -all'], 'failure', NEVER],
    [['v=spf1 ip6:2001:db8::/32 -all'], 'ok', ''],
    [['v=spf1 redirect='], 'failure', NEVER],
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
  const servers = {
    [OURS]: ['198.51.100.9'],
    [PROVIDER]: ['192.0.2.25'],
    [HOST]: ['203.0.113.7', '2001:db8::7'],
    '203.0.113.99': ['203.0.113.99'],
    '2001:db8::99': ['2001:db8::99'],
    'late.example.org': [],
  }
  for (const [server, records, status, fix] of [
    [OURS, ['v=spf1 a:out.example.org -all'], 'ok', ''],
    [OURS, ['v=spf1 a:out.example.org ~all'], 'ok', ''],
    [OURS, ['v=spf1 ip4:198.51.100.0/24 -all'], 'ok', ''],
    [OURS, ['v=spf1 include:_spf.example.net -all'], 'ok', ''],
    [OURS, ['v=spf1 redirect=_spf.example.net'], 'ok', ''],
    [OURS, ['v=spf1 mx -all'], 'ok', ''],
    [OURS, ['v=spf1 -all'], 'failure', spf('a:out.example.org -all')],
    [OURS, [], 'warning', spf('a:out.example.org -all')],
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
    ['late.example.org', ['v=spf1 ip4:203.0.113.7 -all'], 'ok', ''],
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
    [HOST, ['v=spf1 a:mx.example.org +all'], 'warning', spf('a:mx.example.org -all')],
    [HOST, [], 'warning', spf('a:mx.example.org -all')],
    ['203.0.113.99', ['v=spf1 ip4:203.0.113.0/24 -all'], 'ok', ''],
    ['203.0.113.99', [], 'warning', spf('ip4:203.0.113.99 -all')],
    ['2001:db8::99', [], 'warning', spf('ip6:2001:db8::99 -all')],
  ] as const) {
    test(`through ${server}, ${records.join(' and ') || 'no record'}: ${status}`, () => {
      const url = `smtp://${server.includes(':') ? `[${server}]` : server}`
      const sender = senderOf({ url, from: `Shop <shop@${DOMAIN}>` }, HOST)
      if (!sender) throw new Error('receipts are sent')
      const sending = { ...sender, addresses: servers[server] }
      const result = evaluateSpf(DOMAIN, found(...records), sending)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }

  for (const [url, server] of [
    ['smtp://user@out.example.org:587', OURS],
    ['smtp://127.0.0.1:25', HOST],
    ['smtp://localhost', HOST],
    ['smtp://[fd00::1]', HOST],
    ['smtp://[2001:db8::99]', '2001:db8::99'],
  ] as const) {
    test(`${url} sends as ${server}`, () =>
      expect(senderOf({ url, from: `shop@${DOMAIN}` }, HOST)?.server).toBe(server))
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
      const context = { parents: [lookup(parent)], sends }
      const result = evaluateDmarc(DOMAIN, lookup(own), context)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})
