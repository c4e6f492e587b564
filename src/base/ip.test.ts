import { describe, expect, test } from 'vitest'
import {
  canonicalIp,
  ipRangeMatcher,
  isIpRange,
  isLoopback,
  plainIp,
  rateLimitNetwork,
  senderLimitRules,
  senderNetwork,
} from './ip.ts'

describe('rates are limited by', () => {
  for (const [ip, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    ['', 'unknown'],
    ['localhost', 'unknown'],
    ['192.0.2', 'unknown'],
    ['192.0.2.7, 192.0.2.8', 'unknown'],
  ] as const) {
    test(`${ip || 'an empty string'}: ${network}`, () => expect(rateLimitNetwork(ip)).toBe(network))
  }
})

describe('storage shares are counted by', () => {
  for (const [ip, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:0DB8:0001:ffff::9', '2001:db8:1::/48'],
    ['2001:db8::9', '2001:db8::/48'],
    ['2001:0:5::9', '2001:0:5::/48'],
    ['2001::9', '2001::/48'],
    ['0:0:5::9', '0:0:5::/48'],
    ['::1', '::/48'],
    ['fe80::1%eth0', 'fe80::/48'],
    ['', 'unknown'],
    ['192.0.2', 'unknown'],
  ] as const) {
    test(`${ip || 'an empty string'}: ${network}`, () => expect(senderNetwork(ip)).toBe(network))
  }
})

describe('a sending host', () => {
  const relays = ['192.0.2.96/28', '2001:db8:9::/64']
  const on = senderLimitRules({ rateLimits: true, relays })
  const off = senderLimitRules({ rateLimits: false, relays })
  for (const [name, ip, hasRates, share] of [
    ['has rates and a share', '192.0.2.7', true, '192.0.2.7'],
    ['on loopback has only a share', '127.0.0.1', false, '127.0.0.1'],
    ['that is a relay has neither', '192.0.2.97', false, undefined],
    ['that is a relay over IPv6 has neither', '2001:db8:9::1', false, undefined],
    ['that is a relay seen on an IPv6 socket has neither', '::ffff:192.0.2.97', false, undefined],
  ] as const) {
    test(`${name}; without rate limits the share still applies`, () => {
      expect([on.hasRates(ip), on.shareNetwork(ip)]).toEqual([hasRates, share])
      expect([off.hasRates(ip), off.shareNetwork(ip)]).toEqual([false, share])
    })
  }
})

describe('loopback', () => {
  for (const [ip, loopback] of [
    ['127.0.0.1', true],
    ['127.255.255.255', true],
    ['::ffff:127.0.0.1', true],
    ['::ffff:7f00:1', true],
    ['::1', true],
    ['0:0:0:0:0:0:0:1', true],
    ['128.0.0.1', false],
    ['::2', false],
    ['0.0.0.0', false],
    ['localhost', false],
    ['', false],
  ] as const) {
    test(`${ip || 'an empty string'} is ${loopback ? '' : 'not '}loopback`, () =>
      expect(isLoopback(ip)).toBe(loopback))
  }
})

describe('a range', () => {
  for (const [text, valid] of [
    ['10.0.0.1', true],
    ['10.0.0.0/8', true],
    ['10.0.0.0/0', true],
    ['10.0.0.0/32', true],
    ['10.0.0.0/33', false],
    ['fd00::/8', true],
    ['::1/128', true],
    ['::1/129', false],
    ['10.0.0.0/', false],
    ['10.0.0.0/8/8', false],
    ['10.0.0.0/-1', false],
    ['10.0.0.0/1e1', false],
    ['10.0.0/8', false],
    ['fe80::1%eth0', false],
    ['proxy.example', false],
    ['', false],
  ] as const) {
    test(`may${valid ? '' : ' not'} be written ${text || 'as an empty string'}`, () =>
      expect(isIpRange(text)).toBe(valid))
  }

  const inside = ipRangeMatcher(['10.0.0.0/8', '192.0.2.7', 'fd00::/8', '2001:db8::1'])
  for (const [ip, expected] of [
    ['10.255.0.1', true],
    ['::ffff:10.255.0.1', true],
    ['11.0.0.1', false],
    ['192.0.2.7', true],
    ['192.0.2.8', false],
    ['fdff::1', true],
    ['fdff::1%eth0', true],
    ['fe00::1', false],
    ['2001:db8:0::1', true],
    ['2001:db8::2', false],
    ['nonsense', false],
    ['', false],
  ] as const) {
    test(`${expected ? 'contains' : 'does not contain'} ${ip || 'an empty string'}`, () =>
      expect(inside(ip)).toBe(expected))
  }

  test('list that is empty contains no address', () =>
    expect(ipRangeMatcher([])('127.0.0.1')).toBe(false))
})

test('each address has one canonical spelling', () => {
  for (const [text, canonical] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::1', '::1'],
    ['192.0.2.0/24', undefined],
    ['192.0.2', undefined],
    ['2001:db8::/64', undefined],
    ['localhost', undefined],
    ['', undefined],
  ] as const) {
    expect(canonicalIp(text), text).toBe(canonical)
  }
})

test('an address keeps its spelling unless it has a zone or maps an IPv4 address', () => {
  expect(['192.0.2.7', '2001:DB8::1', '::ffff:192.0.2.7', 'fe80::1%2', 'x'].map(plainIp)).toEqual([
    '192.0.2.7',
    '2001:DB8::1',
    '192.0.2.7',
    'fe80::1',
    undefined,
  ])
})
