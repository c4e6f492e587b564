import { randomBytes } from 'node:crypto'
import { openDnsServer } from '../../../../test/kit/dns/dns-server.ts'
import { keyRing } from '../../../../test/kit/shop/keys.ts'
import { openSqliteTestMail, openSqliteTestShop } from '../../../../test/kit/store/stores.ts'
import type { LogFacts } from '../../../base/log/log.ts'
import { openOwnDomainDns, recordText } from '../dns.ts'
import { addOwnDomain, verifyOwnDomain } from '../own-domains.ts'
import type { OwnDomain } from '../rules.ts'

/** Real stores, a name server of all domains, and a manual clock. */
export async function openOwnDomainFixture() {
  const [mail, shops] = [await openSqliteTestMail(), await openSqliteTestShop()]
  const dns = await openDnsServer({ 'A ns.test': ['127.0.0.1'] })
  const clock = { now: new Date('2026-03-01T12:00:00Z') }
  const now = () => clock.now
  const logged: LogFacts[] = []
  const deps = {
    store: mail.store,
    shop: shops.store,
    now,
    randomBytes,
    ownHosts: [],
    log: { info: (facts: LogFacts) => void logged.push(facts) },
    bus: { wake() {} },
    limit: { take: async () => 0, peek: async () => 0, spend: async () => {} },
    ownDomainDns: openOwnDomainDns({
      senderChecks: { dns: [dns.server] },
      ownDomains: { nameServers: [dns.server] },
    }),
  }
  const ring = keyRing(shops.store, now)
  return {
    ...{ mail, deps, dns, ring, logged },
    pass(ms: number): void {
      clock.now = new Date(clock.now.getTime() + ms)
    },
    publish({ name, token }: Pick<OwnDomain, 'name' | 'token'>): void {
      Object.assign(dns.zone, {
        [`NS ${name}`]: ['ns.test'],
        [`SOA ${name}`]: ['ns.test'],
        [`TXT _mayfly.${name}`]: [recordText(token)],
      })
    },
    /** A domain that is held by this key. */
    async verified(name: string, keyId: string): Promise<OwnDomain> {
      const claim = await addOwnDomain(deps, { id: keyId, maxDomains: 10 }, name)
      this.publish(claim)
      return await verifyOwnDomain(deps, claim.id, { keyId, client: undefined })
    },
    async close() {
      await mail.close()
      await shops.close()
      await dns.close()
    },
  }
}
