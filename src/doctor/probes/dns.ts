import { getServers, Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { DnsProbe } from '../checks/context.ts'
import { reverseName } from '../rules/dns-records.ts'
import type { Lookup } from '../rules/result.ts'

// The resolver itself tries each server for seconds; a check makes two lookups one after the other, and has 15 s.
const LOOKUP_MS = 5_000
const NO_RECORD = new Set(['ENODATA', 'ENOTFOUND'])

/** Without a cache: the operator may have just changed the record. `servers` as in MAYFLY_DNS; none: those of the system. */
export function openDnsProbe(servers: readonly string[], { lookupMs = LOOKUP_MS } = {}): DnsProbe {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const used = servers.length > 0 ? servers : systemServers()
  if (used.length > 0) resolver.setServers(used)
  const answer = <T>(records: Promise<T[]>) => answerWithin(lookupMs, records)
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

async function answerWithin<T>(ms: number, records: Promise<T[]>): Promise<Lookup<T>> {
  const late = Promise.withResolvers<Lookup<T>>()
  const timer = setTimeout(() => late.resolve({ error: 'ETIMEOUT' }), ms)
  try {
    return await Promise.race([records.then((found) => ({ records: found })), late.promise])
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return NO_RECORD.has(code) ? { records: [] } : { error: code }
  } finally {
    clearTimeout(timer)
  }
}
