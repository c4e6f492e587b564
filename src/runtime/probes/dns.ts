import { Resolver } from 'node:dns/promises'
import { reverseName } from '../../core/checks/dns-records.ts'
import type { Lookup } from '../../core/checks/result.ts'
import type { DnsProbe } from '../../service/checks/context.ts'

const NO_RECORD = new Set(['ENODATA', 'ENOTFOUND'])

/** Without a cache: the operator may have just changed the record. `servers` as in MAYFLY_DNS; none: those of the system. */
export function openDnsProbe(servers: readonly string[]): DnsProbe {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  return {
    mx: (name) => answer(resolver.resolveMx(name)),
    a: (name) => answer(resolver.resolve4(name)),
    aaaa: (name) => answer(resolver.resolve6(name)),
    cname: (name) => answer(resolver.resolveCname(name)),
    txt: (name) =>
      answer(resolver.resolveTxt(name).then((all) => all.map((parts) => parts.join('')))),
    // Not reverse(), which also reads /etc/hosts.
    ptr: (ip) => answer(resolver.resolvePtr(reverseName(ip))),
    tlsa: (name) =>
      answer(
        resolver.resolveTlsa(name).then((all) =>
          all.map(({ certUsage: usage, selector, match, data }) => {
            return { usage, selector, match, data: Buffer.from(data).toString('hex') }
          }),
        ),
      ),
  }
}

async function answer<T>(records: Promise<T[]>): Promise<Lookup<T>> {
  try {
    return { records: await records }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return NO_RECORD.has(code) ? { records: [] } : { error: code }
  }
}
