import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDnsServer } from '../../test/kit/dns/dns-server.ts'
import { type Dns, openDns } from './dns.ts'
import type { DnsQuery } from './job.ts'

const NEVER = new AbortController().signal
const MINUTE_MS = 60_000
let server: Awaited<ReturnType<typeof openDnsServer>>
let dns: Dns
let now: Date
beforeEach(async () => {
  now = new Date()
  server = await openDnsServer({
    'TXT here.test': ['one', 'two'],
    'TXT long.test': ['x'.repeat(700)],
    'A here.test': ['192.0.2.1'],
    'AAAA here.test': ['2001:db8::1'],
    'MX here.test': ['10 mx.here.test'],
    'TXT broken.test': 'SERVFAIL',
    'TXT silent.test': 'silence',
  })
  dns = openDns({ servers: [server.server], now: () => now, maxEntries: 20 })
})
afterEach(async () => {
  dns.close()
  await server.close()
})

const resolve = (name: string, type: DnsQuery['type'] = 'TXT', signal = NEVER) =>
  dns.resolve({ name, type }, signal)

for (const [name, type, expected] of [
  ['here.test', 'TXT', { records: [['one'], ['two']] }],
  ['HERE.test', 'A', { records: ['192.0.2.1'] }],
  ['here.test', 'AAAA', { records: ['2001:db8::1'] }],
  ['here.test', 'MX', { records: [{ priority: 10, exchange: 'mx.here.test' }] }],
  ['here.test', 'PTR', { error: 'ENODATA' }],
  ['missing.test', 'TXT', { error: 'ENOTFOUND' }],
  ['broken.test', 'TXT', { error: 'ESERVFAIL' }],
  [`${'a'.repeat(64)}.test`, 'TXT', { error: 'EBADNAME' }],
  [`${'a.'.repeat(130)}test`, 'TXT', { error: 'EBADNAME' }],
  ['bad..test', 'TXT', { error: 'EBADNAME' }],
  ['printer.local', 'TXT', { error: 'ENOTFOUND' }],
] as const) {
  test(`${type} of ${name.slice(0, 20)} resolves as in DNS`, async () => {
    expect(await resolve(name, type)).toMatchObject(expected)
  })
}

test('a long TXT record is complete', async () => {
  const answer = await resolve('long.test')
  expect('records' in answer && answer.records.flat().join('').length).toBe(700)
})

test('concurrent and repeated queries send one request', async () => {
  await Promise.all(Array.from({ length: 50 }, () => resolve('here.test')))
  await resolve('HERE.TEST')
  await resolve('missing.test')
  await resolve('missing.test')
  expect(server.asked).toEqual(['TXT here.test', 'TXT missing.test'])
  now = new Date(now.getTime() + 6 * MINUTE_MS)
  await resolve('here.test')
  expect(server.asked.filter((key) => key === 'TXT here.test').length).toBe(2)
})

test('an error is cached for a shorter time', async () => {
  await resolve('broken.test')
  const tries = server.asked.length
  await resolve('broken.test')
  expect(server.asked.length).toBe(tries)
  server.zone['TXT broken.test'] = ['fixed']
  now = new Date(now.getTime() + MINUTE_MS)
  expect(await resolve('broken.test')).toEqual({ records: [['fixed']] })
})

test('an abort gives ETIMEOUT; a cached answer is returned even then', async () => {
  const end = new AbortController()
  const answer = resolve('silent.test', 'TXT', end.signal)
  end.abort()
  expect(await answer).toEqual({ error: 'ETIMEOUT' })
  expect(await resolve('silent.test', 'TXT', end.signal)).toEqual({ error: 'ETIMEOUT' })
  await resolve('here.test')
  expect(await resolve('here.test', 'TXT', end.signal)).toEqual({ records: [['one'], ['two']] })
})

test('the cache is bounded', async () => {
  await resolve('here.test')
  for (let at = 0; at < 20; at += 1) await resolve(`n${at}.test`)
  await resolve('n19.test')
  await resolve('here.test')
  expect(server.asked.length).toBe(22)
})
