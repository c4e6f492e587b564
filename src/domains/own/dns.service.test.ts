import { describe, expect, test } from 'vitest'
import { openDnsServer, type Zone } from '../../../test/kit/dns/dns-server.ts'
import type { Host } from '../../base/address.ts'
import { openOwnDomainDns, recordText } from './dns.ts'

const NAME = 'corp.test' as Host
const TEXT = recordText('abc')
const SOA: Zone = { 'SOA corp.test': ['ns.corp.test'] }
const OURS: Zone = { ...SOA, 'TXT _mayfly.corp.test': [TEXT, 'v=spf1 -all'] }
const REFUSING: Zone = {
  'TXT _mayfly.corp.test': 'REFUSED',
  'SOA corp.test': 'REFUSED',
  'CNAME corp.test': 'REFUSED',
}
const SILENT: Zone = {
  'TXT _mayfly.corp.test': 'silence',
  'SOA corp.test': 'silence',
  'CNAME corp.test': 'silence',
}

/** Servers with these zones are the name servers of corp.test. */
async function lookUp(
  zones: readonly Zone[],
  { resolver = {}, name = NAME, isAllowed = true }: LookUpOptions = {},
) {
  const servers = await Promise.all(
    zones.map((zone, at) => openDnsServer(zone, `127.0.0.${at + 2}`)),
  )
  const names = servers.map((_, at) => `ns${at}.corp.test`)
  const addresses = names.map((one, at) => [`A ${one}`, [`127.0.0.${at + 2}`]])
  const found = { 'NS corp.test': names, ...Object.fromEntries(addresses), ...resolver }
  const resolving = await openDnsServer(found)
  const settings = {
    senderChecks: { dns: [resolving.server] },
    ownDomains: { nameServers: isAllowed ? servers.map(({ server }) => server) : [] },
  }
  try {
    // Silence is the only thing that is waited for.
    const records = await openOwnDomainDns(settings, { queryMs: 2_000, totalMs: 8_000 })(name)
    return { ...records, texts: [...records.texts], asked: servers.flatMap(({ asked }) => asked) }
  } finally {
    for (const one of [...servers, resolving]) await one.close()
  }
}

interface LookUpOptions {
  resolver?: Zone
  name?: Host
  isAllowed?: boolean
}

// At the same time: silence takes long.
describe.concurrent('the record is found', () => {
  for (const [title, zones] of [
    ['by one server', [OURS]],
    ['by one of two, although the other does not have it yet', [SOA, OURS]],
    ['by one of two, although the other is silent', [SILENT, OURS]],
    ['by one of two, although the other refuses', [REFUSING, OURS]],
    ['among texts with odd bytes', [{ ...SOA, 'TXT _mayfly.corp.test': ['\xff\x00\n', TEXT] }]],
  ] as const) {
    test(title, async () => {
      expect(await lookUp(zones)).toMatchObject({ texts: expect.arrayContaining([TEXT]) })
    })
  }

  test('in the zone above, if the name has none of its own', async () => {
    const zone = { ...SOA, 'TXT _mayfly.test.corp.test': [TEXT] }
    const found = await lookUp([zone], { name: 'test.corp.test' as Host })
    expect(found).toMatchObject({ texts: [TEXT], isComplete: true })
  })
})

describe.concurrent('it is missing only if a server of the zone says so', () => {
  for (const [title, zones, isComplete] of [
    ['NXDOMAIN', [SOA], true],
    ['no TXT record at the name', [{ ...SOA, 'A _mayfly.corp.test': ['192.0.2.1'] }], true],
    ['other texts', [{ ...SOA, 'TXT _mayfly.corp.test': ['\xff', 'mayfly-verification='] }], true],
    ['NXDOMAIN beside a silent server', [SILENT, SOA], true],
    ['NXDOMAIN of a server without the zone', [{}], false],
    ['SERVFAIL', [{ ...SOA, 'TXT _mayfly.corp.test': 'SERVFAIL' }], false],
    ['a refusal', [REFUSING], false],
    ['silence', [SILENT], false],
  ] as const) {
    test(`${title}: ${isComplete ? 'missing' : 'unknown'}`, async () => {
      const found = await lookUp(zones)
      expect(found.texts).not.toContain(TEXT)
      expect([found.isComplete, found.failure === undefined]).toEqual([isComplete, isComplete])
    })
  }
})

describe.concurrent('without name servers there is no answer', () => {
  for (const [title, resolver, failure] of [
    ['the resolver fails', { 'NS corp.test': 'SERVFAIL' }, 'cannot be found'],
    ['the resolver is silent', { 'NS corp.test': 'silence' }, 'cannot be found'],
    ['there are none', { 'NS corp.test': [] }, 'has no name servers'],
    ['those of the suffix are not asked', { 'NS corp.test': [], 'NS test': ['ns0.corp.test'] }, ''],
    ['they have no address', { 'A ns0.corp.test': [] }, 'no public address'],
  ] as const) {
    test(title, async () => {
      const found = await lookUp([OURS], { resolver: resolver })
      expect(found).toMatchObject({ texts: [], isComplete: false, asked: [] })
      expect(found.failure).toContain(failure)
    })
  }

  test('a private address is not asked', async () => {
    const found = await lookUp([OURS], { isAllowed: false })
    expect(found).toMatchObject({ isComplete: false, asked: [] })
    expect(found.failure).toContain('no public address')
  })
})

test('an alias is reported', async () => {
  const alias = { ...OURS, 'CNAME corp.test': ['shop.test'] }
  expect(await lookUp([alias])).toMatchObject({ isAlias: true })
  expect(await lookUp([OURS])).toMatchObject({ isAlias: false })
})

test('the name servers of the target of an alias are not asked', async () => {
  const name = 'shop.corp.test' as Host
  // As a resolver answers that follows the alias.
  const resolver = {
    'CNAME shop.corp.test': ['other.test'],
    'NS shop.corp.test': ['ns.other.test'],
    'A ns.other.test': ['127.0.0.3'],
  }
  const theirs = { 'SOA shop.corp.test': ['ns.other.test'], 'TXT _mayfly.shop.corp.test': [TEXT] }
  const ours = { ...SOA, 'CNAME shop.corp.test': ['other.test'] }
  const found = await lookUp([ours, theirs], {
    name,
    resolver: { ...resolver, 'NS corp.test': ['ns0.corp.test'] },
  })
  expect(found).toMatchObject({ texts: [], isComplete: true, isAlias: true })
})

test('a record behind an alias is not that of the domain', async () => {
  // Of a server that has both zones; the alias may be that of a wildcard.
  const zones = {
    ...SOA,
    'CNAME _mayfly.corp.test': ['any.other.test'],
    'TXT any.other.test': [TEXT],
  }
  expect(await lookUp([zones])).toMatchObject({ texts: [], isComplete: true, isAlias: false })
})

test('at most four servers are asked', async () => {
  const { asked } = await lookUp([SOA, SOA, SOA, SOA, OURS])
  expect(asked.filter((query) => query.startsWith('TXT'))).toHaveLength(4)
})
