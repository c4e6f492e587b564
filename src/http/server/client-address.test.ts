import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { LogFacts } from '../../base/log/log.ts'
import { clientAddresses, untrustedProxyWarning } from './client-address.ts'

type Config = Parameters<typeof clientAddresses>[0]
const open = (config: Partial<Config>) =>
  clientAddresses({
    baseUrl: '',
    trustProxy: [],
    rateLimits: true,
    onUntrustedProxy() {},
    ...config,
  })

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
    expect(open({ trustProxy: trusted }).clientOf(from(peer, forwarded))).toBe(client)
  })
}

test('a local proxy is detected per request, even on a shared connection', () => {
  const { clientOf: find } = open({})
  const request = from('127.0.0.1')
  const { socket } = request
  const forwarded = (headers: object) => ({ socket, headers }) as unknown as IncomingMessage
  expect(find(request)).toBeUndefined()
  expect(find(forwarded({ 'x-forwarded-for': '198.51.100.1' }))).toBe(LOCAL)
  expect(find(forwarded({ forwarded: 'for=198.51.100.1' }))).toBe(LOCAL)
  expect(find(request)).toBeUndefined()
})

describe('a request is exposed', () => {
  const { isExposed } = open({ trustProxy: ['198.51.100.9'] })
  for (const [name, peer, expected] of [
    ['if it comes from the Internet', '203.0.113.9', true],
    ['if it comes from the Internet over IPv6', '2600::1', true],
    ['not from this machine', '::ffff:127.0.0.1', false],
    ['not from a private network', '10.1.2.3', false],
    ['not from a trusted proxy', '198.51.100.9', false],
  ] as const) {
    test(name, () => expect(isExposed(from(peer))).toBe(expected))
  }

  test('not with TLS', () => {
    const encrypted = { socket: { remoteAddress: '203.0.113.9', encrypted: true }, headers: {} }
    expect(isExposed(encrypted as unknown as IncomingMessage)).toBe(false)
  })
})

describe('an untrusted proxy', () => {
  const recordWarnings = () => {
    const lines: string[] = []
    const log = { warn: (facts: LogFacts) => void lines.push(String(facts['setting'])) }
    return { lines, warn: untrustedProxyWarning(log, () => true) }
  }

  test('is logged once, with the setting to change', () => {
    const { lines, warn } = recordWarnings()
    const { clientOf: find } = open({ onUntrustedProxy: warn })
    find(from('127.0.0.1'))
    expect(lines).toStrictEqual([])
    for (const peer of ['127.0.0.1', '::1', '192.0.2.1', '127.0.0.1', '192.0.2.1']) {
      find(from(peer, '198.51.100.1'))
    }
    expect(lines).toStrictEqual(['MAYFLY_TRUST_PROXY=127.0.0.1', 'MAYFLY_TRUST_PROXY=192.0.2.1'])
  })

  test('is logged even if rate limits are off, and a trusted one is not', () => {
    const { lines, warn } = recordWarnings()
    open({ trustProxy: ['10.0.0.1'], onUntrustedProxy: warn }).clientOf(
      from('10.0.0.1', '198.51.100.1'),
    )
    expect(lines).toStrictEqual([])
    const { clientOf } = open({ rateLimits: false, onUntrustedProxy: warn })
    expect(clientOf(from('127.0.0.1', '198.51.100.1'))).toBeUndefined()
    expect(lines.length).toBe(1)
  })

  test('is logged for at most five remote addresses, and always for a local one', () => {
    const { lines, warn } = recordWarnings()
    for (let number = 1; number < 100; number += 1) warn(`192.0.2.${number}`)
    expect(lines.length).toBe(5)
    warn('127.0.0.1')
    expect(lines.length).toBe(6)
  })

  test('is not logged again if another thread has logged it', () => {
    const lines: LogFacts[] = []
    untrustedProxyWarning({ warn: (facts) => lines.push(facts) }, () => false)('127.0.0.1')
    expect(lines).toStrictEqual([])
  })
})

describe('source addresses', () => {
  const { sourceAddressOf: address } = open({})
  test('differ between clients of an untrusted local proxy', () => {
    const [ann, bob] = [from('127.0.0.1', '198.51.100.1'), from('127.0.0.1', '198.51.100.2')]
    expect(address(ann)).not.toBe(address(bob))
    expect(address(ann)).toBe(address(from('127.0.0.1', '198.51.100.1')))
    expect(address(ann)).not.toBe(address(from('127.0.0.1')))
  })

  test('cannot be forged from another machine', () => {
    const forged = from('192.0.2.1', '198.51.100.1')
    expect(address(forged)).not.toBe(address(from('127.0.0.1', '198.51.100.1')))
    expect(address(from('192.0.2.1'))).toBe('192.0.2.1')
  })

  test('are the forwarded ones behind a trusted proxy', () => {
    expect(
      open({ trustProxy: ['127.0.0.1'] }).sourceAddressOf(from('127.0.0.1', '198.51.100.1')),
    ).toBe('198.51.100.1')
  })
})

describe('with rate limits off', () => {
  test('no client is counted', () => {
    expect(open({ rateLimits: false }).clientOf(from('192.0.2.1'))).toBeUndefined()
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
    const { isSecure } = open({ baseUrl: site, trustProxy: trusted })
    const headers = scheme === undefined ? {} : { 'x-forwarded-proto': scheme }
    const request = { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage
    expect(isSecure(request)).toBe(secure)
  })
}
