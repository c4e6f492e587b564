import { expect, test } from 'vitest'
import { openDnsServer, openSilentServers } from '../../../test/kit/dns/knot.ts'
import { isTlsaSigned } from './dnssec.ts'

const tlsa = (zone: string) => `_25._tcp.${zone}. 60 IN TLSA 3 1 1 ${'00'.repeat(32)}`

test('signatures of TLSA records are seen; without an answer nothing is known', async () => {
  const zones = { 'signed.test': [tlsa('signed.test')], 'plain.test': [tlsa('plain.test')] }
  const dns = await openDnsServer([], { zones, signed: ['signed.test'] })
  const silent = await openSilentServers(1)
  expect(await isTlsaSigned(dns.server, '_25._tcp.signed.test')).toBe(true)
  expect(await isTlsaSigned(dns.server, '_25._tcp.plain.test')).toBe(false)
  expect(await isTlsaSigned(silent.servers[0] ?? '', '_25._tcp.plain.test')).toBe(undefined)
  expect(await isTlsaSigned('127.0.0.1:1', '_25._tcp.plain.test')).toBe(undefined)
  dns.close()
  silent.close()
})
