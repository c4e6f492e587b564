import { getServers, Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { reverseName } from '../../core/checks/dns-records.ts'
import type { Lookup } from '../../core/checks/result.ts'
import type { DnsProbe } from '../../service/checks/context.ts'

const NO_RECORD = new Set(['ENODATA', 'ENOTFOUND'])

/** Without a cache: the operator may have just changed the record. `servers` as in MAYFLY_DNS; none: those of the system. */
export function openDnsProbe(servers: readonly string[]): DnsProbe {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const used = servers.length > 0 ? servers : systemServers()
  if (used.length > 0) resolver.setServers(used)
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

const RESOLVED = '127.0.0.53'
const RESOLVED_SERVERS = '/run/systemd/resolve/resolv.conf'

/**
 * The servers that systemd-resolved queries, if it is used: it answers for the name and addresses of this machine by itself, from /etc/hosts and
 * the network interfaces, and not with the records that others get. None: the servers of /etc/resolv.conf.
 */
function systemServers(): string[] {
  if (!getServers().every((server) => server === RESOLVED)) return []
  try {
    const lines = readFileSync(RESOLVED_SERVERS, 'utf8').matchAll(/^nameserver\s+(\S+)/gm)
    return [...lines].map(([, server = '']) => server).filter((server) => isIP(server) !== 0)
  } catch {
    return []
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
