import { describe, expect, test } from 'vitest'
import { isPrivateIp } from '../../base/ip.ts'
import { listedName, reverseName } from './dns-records.ts'
import { evaluateAddresses, evaluateListing, evaluateMx, evaluatePtr } from './dns-rules.ts'
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
    ['another one beside ours', found(at(10, HOST), at(10, 'old.example.net')), 'warning', 'old.'],
    ['none', found(), 'failure', MX],
    ['a null MX', found(at(0, '')), 'failure', `Replace it: ${MX}`],
    ['an address', found(at(10, '203.0.113.7')), 'failure', `Replace it: ${MX}`],
    ['only another host', found(at(10, 'mail.example.org')), 'failure', MX],
    ['no answer', { error: 'ESERVFAIL' }, 'failure', 'dig +trace box.example.org'],
    ['no answer of the resolver', { error: 'ECONNREFUSED' }, 'failure', 'MAYFLY_DNS'],
    ['a name without a dot', found(at(10, `${HOST}.${DOMAIN}`)), 'failure', 'a dot at the end'],
    ['no such name below a zone', { records: [], isMissing: true }, 'failure', MX],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluateMx(DOMAIN, HOST, mx)
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }

  for (const [name, mx, status, fix] of [
    ['our host', found(at(10, HOST)), 'ok', ''],
    ['another host', found(at(10, 'mx.host.example')), 'failure', 'Replace the CNAME record'],
    ['no MX record', found(), 'failure', 'addresses of site.host.example'],
  ] as const) {
    test(`an alias of a name with ${name}: ${status}`, () => {
      const result = evaluateMx(DOMAIN, HOST, mx, 'site.host.example')
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }

  test('a domain below a top-level domain that does not exist must be registered', () =>
    expect(evaluateMx('example.org', HOST, { records: [], isMissing: true }).fix).toContain(
      'Register the domain',
    ))
})

describe('addresses of the host', () => {
  const none = found<string>()
  const six = '2001:db8::7'
  const own = ['203.0.113.7', six]
  const FOUR = 'Publish only: mx.example.org. 3600 IN A 203.0.113.7'
  const BOTH = `${FOUR}\nmx.example.org. 3600 IN AAAA ${six}`
  const NODE = '\nIf 2001:db8::7 is another node or your load balancer, ignore this.'
  const lookups = { a: found('203.0.113.7'), aaaa: none, cname: none }
  for (const [name, changed, addresses, status, fix] of [
    ['its own address', {}, own, 'ok', ''],
    ['its own addresses', { aaaa: found('2001:db8::7') }, own, 'ok', ''],
    ['any public address behind NAT', { a: found('198.51.100.1') }, [], 'ok', ''],
    ['IPv4 behind NAT beside IPv6', { aaaa: found(six) }, [six], 'ok', ''],
    ['none behind NAT', { a: none }, [six], 'failure', 'mx.example.org. 3600 IN A ADDRESS'],
    ['none', { a: none }, own, 'failure', 'mx.example.org. 3600 IN A 203.0.113.7'],
    ['a private one', { a: found('10.0.0.7') }, own, 'failure', 'IN A 203.0.113.7'],
    ['a loopback one beside', { aaaa: found('::1') }, own, 'failure', BOTH],
    ['one of /etc/hosts', { a: found('127.0.1.1') }, own, 'failure', 'set MAYFLY_DNS'],
    ['of another machine', { a: found('198.51.100.1') }, own, 'warning', 'IN A 203.0.113.7'],
    ['an old IPv6 one', { aaaa: found('2001:db8::9') }, own, 'warning', BOTH],
    [
      'an IPv6 one without IPv6',
      { aaaa: found(six) },
      ['203.0.113.7'],
      'warning',
      `${FOUR}${NODE}`,
    ],
    ['any IPv6 one behind NAT', { aaaa: found(six) }, [], 'ok', ''],
    ['a private IPv6 one', { aaaa: found('fd00::1') }, own, 'failure', BOTH],
    [
      'a private IPv6 one without IPv6',
      { aaaa: found('fd00::1') },
      ['203.0.113.7'],
      'failure',
      FOUR,
    ],
    [
      'only a private IPv6 one without IPv6',
      { a: none, aaaa: found('fd00::1') },
      ['203.0.113.7'],
      'failure',
      FOUR,
    ],
    ['an alias', { cname: found('host.example.net') }, own, 'warning', BOTH],
    ['only IPv6', { a: none, aaaa: found('2001:db8::7') }, own, 'warning', 'IN A 203.0.113.7'],
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
    ['a broken zone', [['203.0.113.7', { error: 'ESERVFAIL' }]], 'warning', 'dig -x 203.0.113.7'],
    ['no answer', [['203.0.113.7', { error: 'ETIMEOUT' }]], 'skipped', ''],
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

describe('block lists', () => {
  for (const [name, zen, cop, status] of [
    ['listed nowhere', found(), found(), 'ok'],
    ['listed by one', found('127.0.0.2'), found(), 'warning'],
    ['a refusal of SURBL', found('127.0.0.1'), found(), 'ok'],
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
