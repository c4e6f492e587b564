import { Resolver } from 'node:dns/promises'
import type { Host } from '../../base/address.ts'
import { hasErrorCode } from '../../base/problem.ts'
import { isSpecialPurpose } from '../../base/special-purpose.ts'
import { publicSuffix } from './names.ts'

/** Addresses, with a port unless it is 53. */
export interface DnsSettings {
  /** Find the name servers of a domain; if empty, those of the system. */
  senderChecks: { dns: readonly string[] }
  /** May have a private address. */
  ownDomains: { nameServers: readonly string[] }
}

/** What the name servers of a domain say about its verification record. */
export interface FoundRecords {
  /** All texts at the name, from any of the servers. They may contain any bytes: compare, never show them. */
  texts: ReadonlySet<string>
  /** Whether at least one server that serves the zone answered: then a text that is not there is missing. */
  isComplete: boolean
  /** The domain itself is an alias, beside which there can be no MX record. */
  isAlias: boolean
  /** Why the answer is not complete. */
  failure: string | undefined
}

export type OwnDomainDns = ReturnType<typeof openOwnDomainDns>

const QUERY_MS = 3_000
const TOTAL_MS = 10_000
const MAX_SERVERS = 4
const MAX_ADDRESSES = 2
const NO_RECORD = ['ENOTFOUND', 'ENODATA']

/** Asks the domain's own name servers: a resolver may have cached an old answer, and reports a failure of its own as one of theirs. */
export function openOwnDomainDns(
  { senderChecks, ownDomains }: DnsSettings,
  { queryMs = QUERY_MS, totalMs = TOTAL_MS } = {},
) {
  /** Never rejects. */
  return async (name: Host): Promise<FoundRecords> => {
    const opened: Resolver[] = []
    const open = (servers: readonly string[]) => {
      const resolver = new Resolver({ timeout: queryMs, tries: 1 })
      if (servers.length > 0) resolver.setServers(servers)
      opened.push(resolver)
      return resolver
    }
    const timer = setTimeout(() => {
      for (const resolver of opened) resolver.cancel()
    }, totalMs)
    try {
      return await lookUp(name, open)
    } finally {
      clearTimeout(timer)
    }
  }

  async function lookUp(
    name: Host,
    open: (servers: readonly string[]) => Resolver,
  ): Promise<FoundRecords> {
    const resolver = open(senderChecks.dns)
    const zone = await findZone(resolver, name)
    if ('failure' in zone) return { ...failed(zone.failure), isAlias: zone.isAlias }
    const servers = await Promise.all(
      zone.servers.slice(0, MAX_SERVERS).map((server) => addressesOf(resolver, server)),
    )
    const reachable = servers.map(usable).filter((addresses) => addresses.length > 0)
    if (reachable.length === 0)
      return failed(`The name servers of ${zone.name} have no public address.`)
    const answers = await Promise.all(
      reachable.map((addresses) => ask(open(addresses), zone.name, name)),
    )
    const isComplete = answers.some(({ servesZone }) => servesZone)
    return {
      texts: new Set(answers.flatMap(({ texts }) => texts)),
      isComplete,
      isAlias: answers.some(({ isAlias }) => isAlias),
      failure: isComplete ? undefined : `No name server of ${zone.name} gave a usable answer.`,
    }
  }

  /** Public addresses, and those that the operator allows, with their port. */
  function usable(addresses: readonly string[]): string[] {
    return addresses.flatMap((address) => {
      const known = ownDomains.nameServers.find((one) => hostOfServer(one) === address)
      if (known !== undefined) return [known]
      return isSpecialPurpose(address) ? [] : [address]
    })
  }
}

interface Zone {
  name: string
  servers: string[]
}

/** The closest zone at or above the name, but below its public suffix; or why there is none. */
async function findZone(
  resolver: Resolver,
  name: Host,
): Promise<Zone | (Pick<FoundRecords, 'isAlias'> & { failure: string })> {
  let isAlias = false
  const suffixLabels = ((await publicSuffix(name)) ?? '').split('.').length
  const labels = name.split('.')
  for (let at = 0; at < labels.length - suffixLabels; at += 1) {
    const zone = labels.slice(at).join('.')
    // The NS records of an alias are those of its target, whose owner must not answer for this name.
    const alias = await resolver.resolveCname(zone).catch(noRecord)
    isAlias ||= at === 0 && alias !== undefined && alias.length > 0
    if (alias && alias.length > 0) continue
    const servers = await resolver.resolveNs(zone).catch(noRecord)
    if (!alias || !servers)
      return { failure: `The name servers of ${zone} cannot be found.`, isAlias }
    if (servers.length > 0) return { name: zone, servers }
  }
  return { failure: `${name} has no name servers.`, isAlias }
}

/** At most two; IPv4 first, which more servers of ours can reach. */
async function addressesOf(resolver: Resolver, server: string): Promise<string[]> {
  const found = await Promise.all([
    resolver.resolve4(server).catch(() => []),
    resolver.resolve6(server).catch(() => []),
  ])
  return found.flat().slice(0, MAX_ADDRESSES)
}

async function ask(server: Resolver, zone: string, name: Host) {
  const [texts, soa, alias, recordAlias] = await Promise.all([
    server.resolveTxt(recordName(name)).catch(noRecord),
    // A server that does not serve the zone, or only refers to others, has no SOA record: its "no such record" means nothing.
    server.resolveSoa(zone).catch(() => undefined),
    server.resolveCname(name).catch(() => []),
    server.resolveCname(recordName(name)).catch(noRecord),
  ])
  return {
    // Behind an alias, such as one of a wildcard, they are those of somebody else.
    texts: recordAlias?.length === 0 ? (texts ?? []).map((parts) => parts.join('')) : [],
    servesZone: texts !== undefined && soa !== undefined && recordAlias !== undefined,
    isAlias: alias.length > 0,
  }
}

/** Nothing for an answer without records; undefined if there is no answer. */
function noRecord(error: unknown): [] | undefined {
  return hasErrorCode(error, ...NO_RECORD) ? [] : undefined
}

function failed(failure: string): FoundRecords {
  return { texts: new Set(), isComplete: false, isAlias: false, failure }
}

/** `127.0.0.1` of `127.0.0.1:5353`, `::1` of `[::1]:5353`. */
function hostOfServer(server: string): string {
  return /^\[(.*)\]/.exec(server)?.[1] ?? server.replace(/^([^:]*):\d+$/, '$1')
}

/** Where the verification record is. */
export function recordName(name: Host): string {
  return `_mayfly.${name}`
}

export function recordText(token: string): string {
  return `mayfly-verification=${token}`
}
