import { describe, expect, test } from 'vitest'
import { listedName, reverseName } from './dns-records.ts'
import {
  evaluateAddresses,
  evaluateDmarc,
  evaluateListing,
  evaluateMx,
  evaluatePtr,
  evaluateSpf,
  isPrivateIp,
} from './dns-rules.ts'
import type { Lookup } from './result.ts'

const found = <T = never>(...records: T[]): Lookup<T> => ({ records })
const DOMAIN = 'box.example.org'
const HOST = 'mx.example.org'
const MX = 'box.example.org. 3600 IN MX 10 mx.example.org.'

describe('MX', () => {
  const at = (priority: number, exchange: string) => ({ priority, exchange })
  for (const [name, mx, status, fix] of [
    ['our host', found(at(10, HOST)), 'ok', ''],
    ['our host in capitals, with a dot', found(at(10, 'MX.Example.org.')), 'ok', ''],
    ['another one after ours', found(at(20, 'mx2.example.org'), at(10, HOST)), 'ok', ''],
    ['another one before ours', found(at(10, HOST), at(5, 'mx2.example.org')), 'warning', 'mx2'],
    ['none', found(), 'failure', MX],
    ['a null MX', found(at(0, '')), 'failure', `Replace it: ${MX}`],
    ['an address', found(at(10, '203.0.113.7')), 'failure', `Replace it: ${MX}`],
    ['only another host', found(at(10, 'mail.example.org')), 'failure', MX],
    ['no answer', { error: 'ESERVFAIL' }, 'failure', 'dig +trace box.example.org'],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluateMx(DOMAIN, HOST, mx)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})

describe('addresses of the host', () => {
  const none = found<string>()
  const own = ['203.0.113.7', '2001:db8::7']
  const lookups = { a: found('203.0.113.7'), aaaa: none, cname: none }
  for (const [name, changed, addresses, status, fix] of [
    ['its own address', {}, own, 'ok', ''],
    ['its own addresses', { aaaa: found('2001:db8::7') }, own, 'ok', ''],
    ['any public address behind NAT', { a: found('198.51.100.1') }, [], 'ok', ''],
    ['none', { a: none }, own, 'failure', 'mx.example.org. 3600 IN A 203.0.113.7'],
    ['a private one', { a: found('10.0.0.7') }, own, 'failure', 'IN A 203.0.113.7'],
    ['a loopback one beside', { aaaa: found('::1') }, own, 'failure', 'replace the record'],
    ['one of /etc/hosts', { a: found('127.0.1.1') }, own, 'failure', 'set MAYFLY_DNS'],
    ['of another machine', { a: found('198.51.100.1') }, own, 'warning', 'IN A 203.0.113.7'],
    ['an old IPv6 one', { aaaa: found('2001:db8::9') }, own, 'warning', 'replace the record'],
    ['an alias', { cname: found('host.example.net') }, own, 'warning', 'Replace the CNAME record'],
    ['no answer', { a: { error: 'ETIMEOUT' } }, own, 'failure', 'dig +trace mx.example.org'],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const context = { own: addresses, isPrivate: isPrivateIp }
      const result = evaluateAddresses(HOST, { ...lookups, ...changed }, context)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})

describe('reverse names', () => {
  for (const [name, reverse, status, fix] of [
    ['the host', [['203.0.113.7', found(HOST)]], 'ok', ''],
    ['one of several is the host', [['203.0.113.7', found('a.example', HOST)]], 'ok', ''],
    [
      'none',
      [['203.0.113.7', found()]],
      'warning',
      '7.113.0.203.in-addr.arpa. 3600 IN PTR mx.example.org.',
    ],
    [
      'another host',
      [['203.0.113.7', found('vps7.host.example')]],
      'warning',
      'IN PTR mx.example.org.',
    ],
    ['no answer', [['203.0.113.7', { error: 'ESERVFAIL' }]], 'skipped', ''],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluatePtr(HOST, new Map<string, Lookup<string>>(reverse))
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }

  test('are written backwards, for IPv6 by digit', () => {
    expect(reverseName('2001:db8::567:89ab')).toBe(
      'b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
    )
    expect(listedName('203.0.113.7', 'zen.spamhaus.org')).toBe('7.113.0.203.zen.spamhaus.org')
  })
})

const NEVER = 'box.example.org. 3600 IN TXT "v=spf1 -all"'
const BY_RELAY = 'box.example.org. 3600 IN TXT "v=spf1 a:out.example.net -all"'

describe('SPF', () => {
  for (const [sends, records, status, fix] of [
    [false, ['v=spf1 -all'], 'ok', ''],
    [false, ['google-site-verification=1', 'v=spf1 -all'], 'ok', ''],
    [false, ['v=spf1 include:_spf.example.net -all'], 'ok', ''],
    [false, ['v=spf1 redirect=_spf.example.net'], 'ok', ''],
    [false, [], 'warning', NEVER],
    [false, ['v=spf10 -all'], 'warning', NEVER],
    [false, ['v=spf1 +all'], 'warning', NEVER],
    [false, ['v=spf1 ~all'], 'warning', NEVER],
    [false, ['v=spf1 mx'], 'warning', NEVER],
    [false, ['v=spf1 -all', 'v=spf1 mx -all'], 'failure', `Keep only one: ${NEVER}`],
    [false, ['v=spf1 ipv4:203.0.113.7 -all'], 'failure', NEVER],
    [true, ['v=spf1 a:out.example.net -all'], 'ok', ''],
    [true, ['v=spf1 a:out.example.net ~all'], 'ok', ''],
    [true, ['v=spf1 -all'], 'failure', BY_RELAY],
    [true, ['v=spf1 +all'], 'warning', BY_RELAY],
    [true, [], 'warning', BY_RELAY],
  ] as const) {
    const role = sends ? 'sends' : 'only receives'
    test(`a domain that ${role}, ${records.join(' and ') || 'no record'}: ${status}`, () => {
      const sending = sends ? { server: 'out.example.net' } : undefined
      const result = evaluateSpf(DOMAIN, found(...records), sending)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})

const REJECT = '_dmarc.box.example.org. 3600 IN TXT "v=DMARC1; p=reject"'

describe('DMARC', () => {
  for (const [sends, own, parent, status, fix] of [
    [false, ['v=DMARC1; p=reject'], [], 'ok', ''],
    [false, ['v=DMARC1;p=REJECT;rua=mailto:a@b.example'], [], 'ok', ''],
    [false, [], ['v=DMARC1; p=reject'], 'ok', ''],
    [false, [], ['v=DMARC1; p=none; sp=reject'], 'ok', ''],
    [false, [], ['v=DMARC1; p=reject; sp=none'], 'warning', REJECT],
    [false, [], [], 'warning', REJECT],
    [false, ['v=DMARC1; p=none'], ['v=DMARC1; p=reject'], 'warning', REJECT],
    [false, ['v=DMARC1; p=quarantine'], [], 'warning', REJECT],
    [false, ['v=DMARC1'], [], 'failure', REJECT],
    [false, ['v=DMARC1; p=maybe'], [], 'failure', REJECT],
    [false, ['v=DMARC1; p=reject', 'v=DMARC1; p=none'], [], 'failure', `Keep only one: ${REJECT}`],
    [true, ['v=DMARC1; p=none'], [], 'ok', ''],
    [true, [], [], 'warning', REJECT],
  ] as const) {
    const role = sends ? 'sends' : 'only receives'
    test(`a domain that ${role}, ${own.join(' and ') || 'no record'}, parent ${parent.join() || 'without'}: ${status}`, () => {
      const sending = sends ? { server: 'out.example.net' } : undefined
      const context = { parents: [found(...parent)], sending }
      const result = evaluateDmarc(DOMAIN, found(...own), context)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})

describe('block lists', () => {
  for (const [name, zen, cop, status] of [
    ['listed nowhere', found(), found(), 'ok'],
    ['listed by one', found('127.0.0.2'), found(), 'warning'],
    ['a list that refuses public resolvers', found('127.255.255.254'), found(), 'ok'],
    ['lists that all refuse', found('127.255.255.254'), found('127.255.255.254'), 'skipped'],
    ['lists that do not answer', { error: 'ETIMEOUT' }, { error: 'ESERVFAIL' }, 'skipped'],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const lists = new Map<string, Lookup<string>>([
        ['zen.spamhaus.org', zen],
        ['bl.spamcop.net', cop],
      ])
      expect(evaluateListing('203.0.113.7', lists).status).toBe(status)
    })
  }
})
