import { getServers, Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { withTimeout } from '../../base/jobs/repeat.ts'
import { printable } from '../../base/text.ts'
import { reverseName } from '../rules/dns-records.ts'
import type { Lookup } from '../rules/result.ts'
import { isTlsaSigned } from './dnssec.ts'

// The resolver itself tries each server for seconds; a check makes two lookups one after the other, and has 15 s.
const LOOKUP_MS = 5_000
const NO_RECORD = new Set(['ENODATA', 'ENOTFOUND'])

export type DnsProbe = ReturnType<typeof openDnsProbe>

/**
 * Lookups that never reject: an error is part of the answer. Without a cache: the operator may have just changed the record. `servers` as in
 * MAYFLY_DNS; none: those of the system.
 */
export function openDnsProbe(servers: readonly string[], { lookupMs = LOOKUP_MS } = {}) {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const used = servers.length > 0 ? servers : systemServers()
  if (used.length > 0) resolver.setServers(used)
  async function answer<T>(found: Promise<T[]>): Promise<Lookup<T>> {
    try {
      const records = await withTimeout(lookupMs, found)
      return records ? { records } : { error: 'ETIMEOUT' }
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      if (!NO_RECORD.has(code)) return { error: code }
      return { records: [], isMissing: code === 'ENOTFOUND' }
    }
  }
  const tlsa = async (name: string) =>
    (await resolver.resolveTlsa(name)).map(({ certUsage: usage, selector, match, data }) => {
      return { usage, selector, match, data: Buffer.from(data).toString('hex') }
    })
  // Whoever has a zone writes what he likes: no text of it may look like a line of ours.
  const txt = async (name: string) =>
    (await resolver.resolveTxt(name)).map((parts) => printable(parts.join('')))
  const mx = async (name: string) =>
    (await resolver.resolveMx(name)).map(({ exchange, priority }) => {
      return { exchange: printable(exchange), priority }
    })
  const named = async (found: Promise<string[]>) => (await found).map(printable)
  return {
    mx: (name: string) => answer(mx(name)),
    a: (name: string) => answer(resolver.resolve4(name)),
    aaaa: (name: string) => answer(resolver.resolve6(name)),
    cname: (name: string) => answer(named(resolver.resolveCname(name))),
    /** Each record as one text. */
    txt: (name: string) => answer(txt(name)),
    // Not reverse(), which also reads /etc/hosts.
    ptr: (ip: string) => answer(named(resolver.resolvePtr(reverseName(ip)))),
    tlsa: (name: string) => answer(tlsa(name)),
    isTlsaSigned: (name: string) => isTlsaSigned(resolver.getServers()[0] ?? '', name),
  }
}

/**
 * The servers that systemd-resolved queries, if it is used: it answers for the name and addresses of this machine by itself, from /etc/hosts and
 * the network interfaces, and not with the records that others get. None: the servers of /etc/resolv.conf.
 */
function systemServers(): string[] {
  if (!getServers().every((server) => server === '127.0.0.53')) return []
  try {
    const text = readFileSync('/run/systemd/resolve/resolv.conf', 'utf8')
    const lines = text.matchAll(/^nameserver\s+(\S+)/gm)
    return [...lines].map(([, server = '']) => server).filter((server) => isIP(server) !== 0)
  } catch {
    return []
  }
}
