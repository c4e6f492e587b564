import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Dns, openDns } from './dns.ts'
import type { DnsQuery } from './job.ts'
import { openDnsServer } from './testing/dns-server.ts'

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

const ask = (name: string, type: DnsQuery['type'] = 'TXT', ended = NEVER) =>
  dns.ask({ name, type }, ended)

for (const [name, type, expected] of [
  ['here.test', 'TXT', { records: [['one'], ['two']] }],
  ['HERE.test', 'A', { records: ['192.0.2.1'] }],
  ['here.test', 'AAAA', { records: ['2001:db8::1'] }],
  ['here.test', 'MX', { records: [{ priority: 10, exchange: 'mx.here.test' }] }],
  ['here.test', 'PTR', { fault: 'ENODATA' }],
  ['missing.test', 'TXT', { fault: 'ENOTFOUND' }],
  ['broken.test', 'TXT', { fault: 'ESERVFAIL' }],
  [`${'a'.repeat(64)}.test`, 'TXT', { fault: 'EBADNAME' }],
  [`${'a.'.repeat(130)}test`, 'TXT', { fault: 'EBADNAME' }],
  ['bad..test', 'TXT', { fault: 'EBADNAME' }],
  ['printer.local', 'TXT', { fault: 'ENOTFOUND' }],
] as const) {
  test(`${type} of ${name.slice(0, 20)} is answered as the DNS answers`, async () => {
    expect(await ask(name, type)).toMatchObject(expected)
  })
}

test('a long text comes whole', async () => {
  const answer = await ask('long.test')
  expect('records' in answer && answer.records.flat().join('').length).toBe(700)
})

test('whoever asks the same at once, or soon after, costs one query', async () => {
  await Promise.all(Array.from({ length: 50 }, () => ask('here.test')))
  await ask('HERE.TEST')
  await ask('missing.test')
  await ask('missing.test')
  expect(server.asked).toEqual(['TXT here.test', 'TXT missing.test'])
  now = new Date(now.getTime() + 6 * MINUTE_MS)
  await ask('here.test')
  expect(server.asked.filter((key) => key === 'TXT here.test').length).toBe(2)
})

test('a fault is forgotten sooner', async () => {
  await ask('broken.test')
  const tries = server.asked.length
  await ask('broken.test')
  expect(server.asked.length).toBe(tries)
  server.zone['TXT broken.test'] = ['mended']
  now = new Date(now.getTime() + MINUTE_MS)
  expect(await ask('broken.test')).toEqual({ records: [['mended']] })
})

test('who is told to stop waiting has a time-out; the answer is there for the next', async () => {
  const end = new AbortController()
  const answer = ask('silent.test', 'TXT', end.signal)
  end.abort()
  expect(await answer).toEqual({ fault: 'ETIMEOUT' })
  expect(await ask('silent.test', 'TXT', end.signal)).toEqual({ fault: 'ETIMEOUT' })
  await ask('here.test')
  expect(await ask('here.test', 'TXT', end.signal)).toEqual({ records: [['one'], ['two']] })
})

test('no more is remembered than there is room for', async () => {
  await ask('here.test')
  for (let at = 0; at < 20; at += 1) await ask(`n${at}.test`)
  await ask('n19.test')
  await ask('here.test')
  expect(server.asked.length).toBe(22)
})
