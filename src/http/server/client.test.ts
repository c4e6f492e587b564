import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, test } from 'vitest'
import type { LogFacts } from '../../core/log.ts'
import { clientFinder, httpsTest, sourceAddressFinder, untrustedProxyWarning } from './client.ts'

const LOCAL = 'untrusted local proxy'

const from = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

for (const [name, trusted, peer, forwarded, client] of [
  ['a stranger counts by his address', [], '192.0.2.1', undefined, '192.0.2.1'],
  ['what a stranger forwards is not believed', [], '192.0.2.1', '198.51.100.1', '192.0.2.1'],
  ['IPv4 on an IPv6 socket is IPv4', [], '::ffff:192.0.2.1', undefined, '192.0.2.1'],
  ['IPv6 counts by its /64', [], '2001:db8:1:2:3::4', undefined, '2001:db8:1:2::/64'],
  ['loopback runs free', [], '127.0.0.1', undefined, undefined],
  ['so does ::1', [], '::1', undefined, undefined],
  ['and mapped loopback', [], '::ffff:127.0.0.1', undefined, undefined],
  ['a local proxy that is not trusted is one client', [], '127.0.0.1', '198.51.100.1', LOCAL],
  ['however it connects, and whatever it forwards', [], '::1', '198.51.100.2', LOCAL],
  ['a proxy speaks for others', ['10.0.0.0/8'], '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'only the nearest stranger counts',
    ['10.0.0.0/8'],
    '10.0.0.1',
    '1.1.1.1, 198.51.100.1, 10.9.9.9',
    '198.51.100.1',
  ],
  ['a client cannot claim to be loopback', ['10.0.0.0/8'], '10.0.0.1', '127.0.0.1', '127.0.0.1'],
  ['a port is not part of it', ['10.0.0.0/8'], '10.0.0.1', '203.0.113.12:4444', '203.0.113.12'],
  ['nor are brackets', ['10.0.0.0/8'], '10.0.0.1', '[2001:db8:1:2::3]', '2001:db8:1:2::/64'],
  [
    'nor both',
    ['10.0.0.0/8'],
    '10.0.0.1',
    '203.0.113.12, [2001:db8:1:2::3]:4444, 10.9.9.9:80',
    '2001:db8:1:2::/64',
  ],
  [
    'a bare IPv6 address is not cut at its last colon',
    ['10.0.0.0/8'],
    '10.0.0.1',
    '2001:db8:1:2::3',
    '2001:db8:1:2::/64',
  ],
  ['what stands behind a port is nonsense', ['10.0.0.0/8'], '10.0.0.1', '1.1.1.1:x', '10.0.0.1'],
  ['nonsense counts for the proxy', ['10.0.0.0/8'], '10.0.0.1', 'unknown', '10.0.0.1'],
  [
    'nonsense further left changes nothing',
    ['10.0.0.0/8'],
    '10.0.0.1',
    'x, 198.51.100.1',
    '198.51.100.1',
  ],
  [
    'a proxy that forwards nothing counts itself',
    ['10.0.0.0/8'],
    '10.0.0.1',
    undefined,
    '10.0.0.1',
  ],
  ['loopback counts when it is a proxy', ['127.0.0.1'], '::ffff:127.0.0.1', undefined, '127.0.0.1'],
] as const) {
  test(name, () => {
    assert.equal(clientFinder(trusted, true)(from(peer, forwarded)), client)
  })
}

test('a local proxy is counted on each of its requests, also on a connection that it shares', () => {
  const find = clientFinder([], true)
  const request = from('127.0.0.1')
  const { socket } = request
  const forwarded = (headers: object) => ({ socket, headers }) as unknown as IncomingMessage
  assert.equal(find(request), undefined)
  assert.equal(find(forwarded({ 'x-forwarded-for': '198.51.100.1' })), LOCAL)
  assert.equal(find(forwarded({ forwarded: 'for=198.51.100.1' })), LOCAL)
  assert.equal(find(request), undefined)
})

describe('an untrusted proxy', () => {
  const warned = () => {
    const lines: string[] = []
    const log = { warn: (facts: LogFacts) => void lines.push(String(facts['setting'])) }
    return { lines, warn: untrustedProxyWarning(log, () => true) }
  }

  test('is warned about once, with the setting to change', () => {
    const { lines, warn } = warned()
    const find = clientFinder([], true, warn)
    find(from('127.0.0.1'))
    assert.deepEqual(lines, [])
    for (const peer of ['127.0.0.1', '::1', '192.0.2.1', '127.0.0.1', '192.0.2.1']) {
      find(from(peer, '198.51.100.1'))
    }
    assert.deepEqual(lines, ['MAYFLY_TRUST_PROXY=127.0.0.1', 'MAYFLY_TRUST_PROXY=192.0.2.1'])
  })

  test('is warned about also when nobody is counted; a trusted one never is', () => {
    const { lines, warn } = warned()
    clientFinder(['10.0.0.1'], true, warn)(from('10.0.0.1', '198.51.100.1'))
    assert.deepEqual(lines, [])
    assert.equal(clientFinder([], false, warn)(from('127.0.0.1', '198.51.100.1')), undefined)
    assert.equal(lines.length, 1)
  })

  test('strangers cannot fill the log, nor hide the proxy on this machine', () => {
    const { lines, warn } = warned()
    for (let number = 1; number < 100; number += 1) warn(`192.0.2.${number}`)
    assert.equal(lines.length, 5)
    warn('127.0.0.1')
    assert.equal(lines.length, 6)
  })

  test('is not warned about twice where another thread has done it', () => {
    const lines: LogFacts[] = []
    untrustedProxyWarning({ warn: (facts) => lines.push(facts) }, () => false)('127.0.0.1')
    assert.deepEqual(lines, [])
  })
})

describe('clients told apart', () => {
  const address = sourceAddressFinder([])
  test('those who come through an untrusted proxy are not one and the same', () => {
    const [ann, bob] = [from('127.0.0.1', '198.51.100.1'), from('127.0.0.1', '198.51.100.2')]
    assert.notEqual(address(ann), address(bob))
    assert.equal(address(ann), address(from('127.0.0.1', '198.51.100.1')))
    assert.notEqual(address(ann), address(from('127.0.0.1')))
  })

  test('nobody on another machine is taken for one of them', () => {
    const forged = from('192.0.2.1', '198.51.100.1')
    assert.notEqual(address(forged), address(from('127.0.0.1', '198.51.100.1')))
    assert.equal(address(from('192.0.2.1')), '192.0.2.1')
  })

  test('of a trusted proxy the forwarded address counts', () => {
    assert.equal(
      sourceAddressFinder(['127.0.0.1'])(from('127.0.0.1', '198.51.100.1')),
      '198.51.100.1',
    )
  })
})

describe('when rates are off', () => {
  test('nobody is counted', () => {
    assert.equal(clientFinder([], false)(from('192.0.2.1')), undefined)
  })
})

for (const [name, site, trusted, peer, scheme, secure] of [
  ['a site that is reached by https is', 'https://mayfly.test', [], '192.0.2.1', undefined, true],
  ['a plain one is not', '', [], '192.0.2.1', undefined, false],
  ['a stranger’s word for it counts for nothing', '', [], '192.0.2.1', 'https', false],
  ['a proxy’s word counts', '', ['10.0.0.0/8'], '10.0.0.1', 'https', true],
  ['also when it says http', '', ['10.0.0.0/8'], '10.0.0.1', 'http', false],
  ['of two proxies the outer one’s', '', ['10.0.0.0/8'], '10.0.0.1', 'HTTPS, http', true],
  ['and not the inner one’s', '', ['10.0.0.0/8'], '10.0.0.1', 'http, https', false],
] as const) {
  test(`secure: ${name}`, () => {
    const secureOf = httpsTest({ baseUrl: site, trustProxy: trusted })
    const headers = scheme === undefined ? {} : { 'x-forwarded-proto': scheme }
    const request = { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage
    assert.equal(secureOf(request), secure)
  })
}
