import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, test } from 'vitest'
import type { LogFacts } from '../../base/log/log.ts'
import { clientFinder, httpsTest, sourceAddressFinder, untrustedProxyWarning } from './client.ts'

const LOCAL = 'untrusted local proxy'

const from = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

for (const [name, trusted, peer, forwarded, client] of [
  ['a client counts by its address', [], '192.0.2.1', undefined, '192.0.2.1'],
  ['X-Forwarded-For of an untrusted peer is ignored', [], '192.0.2.1', '198.51.100.1', '192.0.2.1'],
  ['IPv4 on an IPv6 socket is IPv4', [], '::ffff:192.0.2.1', undefined, '192.0.2.1'],
  ['IPv6 counts by its /64', [], '2001:db8:1:2:3::4', undefined, '2001:db8:1:2::/64'],
  ['loopback is not counted', [], '127.0.0.1', undefined, undefined],
  ['::1 is not counted', [], '::1', undefined, undefined],
  ['IPv4-mapped loopback is not counted', [], '::ffff:127.0.0.1', undefined, undefined],
  ['an untrusted local proxy is one client', [], '127.0.0.1', '198.51.100.1', LOCAL],
  ['an untrusted local proxy over IPv6 is the same client', [], '::1', '198.51.100.2', LOCAL],
  [
    'a trusted proxy counts by the forwarded address',
    ['10.0.0.0/8'],
    '10.0.0.1',
    '198.51.100.1',
    '198.51.100.1',
  ],
  [
    'the nearest untrusted address counts',
    ['10.0.0.0/8'],
    '10.0.0.1',
    '1.1.1.1, 198.51.100.1, 10.9.9.9',
    '198.51.100.1',
  ],
  ['a forwarded loopback address is counted', ['10.0.0.0/8'], '10.0.0.1', '127.0.0.1', '127.0.0.1'],
  ['a forwarded port is ignored', ['10.0.0.0/8'], '10.0.0.1', '203.0.113.12:4444', '203.0.113.12'],
  [
    'brackets of a forwarded address are ignored',
    ['10.0.0.0/8'],
    '10.0.0.1',
    '[2001:db8:1:2::3]',
    '2001:db8:1:2::/64',
  ],
  [
    'brackets and port of a forwarded address are ignored',
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
  [
    'an invalid forwarded port counts for the proxy',
    ['10.0.0.0/8'],
    '10.0.0.1',
    '1.1.1.1:x',
    '10.0.0.1',
  ],
  [
    'an invalid forwarded address counts for the proxy',
    ['10.0.0.0/8'],
    '10.0.0.1',
    'unknown',
    '10.0.0.1',
  ],
  [
    'an invalid address further left is ignored',
    ['10.0.0.0/8'],
    '10.0.0.1',
    'x, 198.51.100.1',
    '198.51.100.1',
  ],
  [
    'a proxy without X-Forwarded-For counts itself',
    ['10.0.0.0/8'],
    '10.0.0.1',
    undefined,
    '10.0.0.1',
  ],
  [
    'loopback counts if it is a trusted proxy',
    ['127.0.0.1'],
    '::ffff:127.0.0.1',
    undefined,
    '127.0.0.1',
  ],
] as const) {
  test(name, () => {
    assert.equal(clientFinder(trusted, true)(from(peer, forwarded)), client)
  })
}

test('a local proxy is detected per request, even on a shared connection', () => {
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
  const recordWarnings = () => {
    const lines: string[] = []
    const log = { warn: (facts: LogFacts) => void lines.push(String(facts['setting'])) }
    return { lines, warn: untrustedProxyWarning(log, () => true) }
  }

  test('is logged once, with the setting to change', () => {
    const { lines, warn } = recordWarnings()
    const find = clientFinder([], true, warn)
    find(from('127.0.0.1'))
    assert.deepEqual(lines, [])
    for (const peer of ['127.0.0.1', '::1', '192.0.2.1', '127.0.0.1', '192.0.2.1']) {
      find(from(peer, '198.51.100.1'))
    }
    assert.deepEqual(lines, ['MAYFLY_TRUST_PROXY=127.0.0.1', 'MAYFLY_TRUST_PROXY=192.0.2.1'])
  })

  test('is logged even if rate limits are off, and a trusted one is not', () => {
    const { lines, warn } = recordWarnings()
    clientFinder(['10.0.0.1'], true, warn)(from('10.0.0.1', '198.51.100.1'))
    assert.deepEqual(lines, [])
    assert.equal(clientFinder([], false, warn)(from('127.0.0.1', '198.51.100.1')), undefined)
    assert.equal(lines.length, 1)
  })

  test('is logged for at most five remote addresses, and always for a local one', () => {
    const { lines, warn } = recordWarnings()
    for (let number = 1; number < 100; number += 1) warn(`192.0.2.${number}`)
    assert.equal(lines.length, 5)
    warn('127.0.0.1')
    assert.equal(lines.length, 6)
  })

  test('is not logged again if another thread has logged it', () => {
    const lines: LogFacts[] = []
    untrustedProxyWarning({ warn: (facts) => lines.push(facts) }, () => false)('127.0.0.1')
    assert.deepEqual(lines, [])
  })
})

describe('source addresses', () => {
  const address = sourceAddressFinder([])
  test('differ between clients of an untrusted local proxy', () => {
    const [ann, bob] = [from('127.0.0.1', '198.51.100.1'), from('127.0.0.1', '198.51.100.2')]
    assert.notEqual(address(ann), address(bob))
    assert.equal(address(ann), address(from('127.0.0.1', '198.51.100.1')))
    assert.notEqual(address(ann), address(from('127.0.0.1')))
  })

  test('cannot be forged from another machine', () => {
    const forged = from('192.0.2.1', '198.51.100.1')
    assert.notEqual(address(forged), address(from('127.0.0.1', '198.51.100.1')))
    assert.equal(address(from('192.0.2.1')), '192.0.2.1')
  })

  test('are the forwarded ones behind a trusted proxy', () => {
    assert.equal(
      sourceAddressFinder(['127.0.0.1'])(from('127.0.0.1', '198.51.100.1')),
      '198.51.100.1',
    )
  })
})

describe('with rate limits off', () => {
  test('no client is counted', () => {
    assert.equal(clientFinder([], false)(from('192.0.2.1')), undefined)
  })
})

for (const [name, site, trusted, peer, scheme, secure] of [
  [
    'a site with an https base URL is secure',
    'https://mayfly.test',
    [],
    '192.0.2.1',
    undefined,
    true,
  ],
  ['a site without a base URL is not secure', '', [], '192.0.2.1', undefined, false],
  ['X-Forwarded-Proto of an untrusted peer is ignored', '', [], '192.0.2.1', 'https', false],
  ['https from a trusted proxy is secure', '', ['10.0.0.0/8'], '10.0.0.1', 'https', true],
  ['http from a trusted proxy is not secure', '', ['10.0.0.0/8'], '10.0.0.1', 'http', false],
  [
    'https from the outer of two proxies is secure',
    '',
    ['10.0.0.0/8'],
    '10.0.0.1',
    'HTTPS, http',
    true,
  ],
  [
    'https from the inner of two proxies is not secure',
    '',
    ['10.0.0.0/8'],
    '10.0.0.1',
    'http, https',
    false,
  ],
] as const) {
  test(name, () => {
    const secureOf = httpsTest({ baseUrl: site, trustProxy: trusted })
    const headers = scheme === undefined ? {} : { 'x-forwarded-proto': scheme }
    const request = { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage
    assert.equal(secureOf(request), secure)
  })
}
