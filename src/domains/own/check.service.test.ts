import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDnsServer } from '../../../test/kit/dns/dns-server.ts'
import { ownDomainCheck } from './check.ts'

type Server = Awaited<ReturnType<typeof openDnsServer>>

let nameServer: Server
let resolver: Server
beforeAll(async () => {
  nameServer = await openDnsServer({ 'SOA box.test': ['ns.box.test'] }, '127.0.0.2')
  resolver = await openDnsServer({ 'NS box.test': ['ns.box.test'], 'A ns.box.test': ['127.0.0.2'] })
})
afterAll(async () => {
  await nameServer.close()
  await resolver.close()
})

describe('name servers of domains', () => {
  for (const [name, on, mx, isAllowed, status, text] of [
    ['are not needed', false, {}, true, 'skipped', 'not used'],
    ['answer', true, {}, true, 'ok', 'box.test answer'],
    ['cannot be reached', true, {}, false, 'warning', 'outgoing UDP and TCP to port 53'],
    ['are not tried without DNS', true, { error: 'ETIMEOUT' }, true, 'skipped', 'see mx'],
  ] as const) {
    test(`${name}: ${status}`, async () => {
      const nameServers = isAllowed ? [nameServer.server] : []
      const settings = { senderChecks: { dns: [resolver.server] }, ownDomains: { on, nameServers } }
      const facts = { settings, domains: ['*.wild.test', 'box.test'], dns: { mx: async () => mx } }
      const result = await ownDomainCheck.run(facts)
      expect(result.status).toBe(status)
      expect(result.seen + result.fix).toContain(text)
    })
  }
})
