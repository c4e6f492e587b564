import { parseHost } from '../../base/address.ts'
import { ok, skipped, warning } from '../../base/check-result.ts'
import { type DnsSettings, openOwnDomainDns } from './dns.ts'

/** The part of the settings that the check needs. */
export interface OwnDomainSettings extends Readonly<DnsSettings['ownDomains']> {
  on: boolean
}

interface Facts {
  settings: DnsSettings & { ownDomains: OwnDomainSettings }
  domains: readonly string[]
  dns: { mx(name: string): Promise<object> }
}

/** Check of `mayfly doctor`: whether name servers of domains can be asked directly, tried with those of a domain of our own. */
export const ownDomainCheck = {
  name: 'own-domains',
  async run({ settings, domains, dns }: Facts) {
    if (!settings.ownDomains.on) return skipped('not used')
    const name = domains.map(parseHost).find((host) => host !== undefined)
    if (name === undefined) return skipped('no domain to try it with')
    if ('error' in (await dns.mx(name))) return skipped('see mx')
    const { isComplete, failure: reason } = await openOwnDomainDns(settings)(name)
    if (isComplete) return ok(`the name servers of ${name} answer`)
    return warning(
      `${reason} Domains of key holders cannot be verified if that is so for all of them`,
      `Allow outgoing UDP and TCP to port 53 in the firewall: dig NS ${name}, and then: dig SOA ${name} @NAME_SERVER. Name servers with private addresses: MAYFLY_OWN_DOMAIN_DNS`,
    )
  },
}
