import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, test } from 'vitest'
import { clientFinder, secureFinder } from './client.ts'

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
  ['and mapped loopback', [], '::ffff:127.0.0.1', '198.51.100.1', undefined],
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
    const secureOf = secureFinder({ baseUrl: site, trustProxy: trusted })
    const headers = scheme === undefined ? {} : { 'x-forwarded-proto': scheme }
    const request = { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage
    assert.equal(secureOf(request), secure)
  })
}
