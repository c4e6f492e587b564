import { setImmediate } from 'node:timers/promises'
import { parseHost, withoutWildcard } from '../../base/address.ts'
import { canonicalIp, rateLimitNetwork } from '../../base/ip.ts'
import { Problem } from '../../base/problem.ts'
import { timestampFields } from '../../base/time.ts'
import { addressHash, MAIL_LOG_RESULTS, type Role } from './rules.ts'
import type { LineFilter, MailLogStore, StoredLine } from './store.ts'

/** As an operator writes it. */
export interface LineQuery {
  /** A whole address, or a domain. */
  to?: string | undefined
  from?: string | undefined
  ip?: string | undefined
  result?: string | undefined
  id?: string | undefined
}

export interface LinePage {
  /** Only lines with a smaller number. */
  before?: number | undefined
  /** Only lines with a larger one. */
  after?: number | undefined
  limit: number
}

/** Throws Problem with the name of an invalid part. */
export function parseLineQuery(query: LineQuery, key: Uint8Array): LineFilter {
  const hashes: string[] = []
  const domainOrHash = (role: Role) => {
    const text = query[role]?.trim()
    if (text === undefined) return undefined
    if (!text.includes('@')) return parseDomain(role, text)
    hashes.push(addressHash(key, role, text))
    return undefined
  }
  return {
    toDomain: domainOrHash('to'),
    fromDomain: domainOrHash('from'),
    hashes,
    clients: query.ip === undefined ? undefined : parseClient(query.ip),
    result: query.result === undefined ? undefined : parseResult(query.result),
    id: query.id?.trim(),
  }
}

function parseDomain(name: string, text: string): string {
  const host = parseHost(withoutWildcard(text))
  if (host) return host
  throw new Problem('invalid_parameter', `${name}: must be an address or a domain.`)
}

/** Counts of many lines name the network of an IPv6 address. */
function parseClient(text: string): string[] {
  const ip = canonicalIp(text.trim())
  if (ip !== undefined) return [ip, rateLimitNetwork(ip)]
  throw new Problem('invalid_parameter', 'ip: must be an IP address.')
}

function parseResult(text: string) {
  const result = MAIL_LOG_RESULTS.find((one) => one === text)
  if (result) return result
  throw new Problem('invalid_parameter', `result: must be one of ${MAIL_LOG_RESULTS.join(', ')}.`)
}

/** Newest first. `next`: there are more before this number. */
export async function findLines(
  store: Pick<MailLogStore, 'scanMailLog'>,
  filter: LineFilter,
  { before = Number.MAX_SAFE_INTEGER, after = 0, limit }: LinePage,
): Promise<{ lines: StoredLine[]; next: number | undefined }> {
  const found: StoredLine[] = []
  let next: number | undefined = before
  // One more than wanted, to know whether there are more.
  while (next !== undefined && found.length <= limit) {
    const scan = { ...filter, before: next, after, limit: limit + 1 - found.length }
    const step = await store.scanMailLog(scan)
    found.push(...step.lines)
    next = step.next
    // Others get their turn.
    await setImmediate()
  }
  const lines = found.slice(0, limit)
  return { lines, next: found.length > limit ? lines.at(-1)?.number : undefined }
}

/** For the operator. */
export function lineJson({ at, ip, ...line }: StoredLine) {
  return { ...timestampFields('logged_at', at), ...line, client_ip: ip }
}
