import {
  type DomainName,
  domainName,
  isWildcard,
  type MailDomain,
  parseMailDomain,
} from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import { formatDuration } from '../base/time.ts'
import { LIFETIME_HINT, parseLifetime } from '../mail/rules/session.ts'
import type { DomainAdminStore } from '../mail/sessions/domains.ts'

// What the operator does to mail domains, by commands and on the admin page.

interface DomainOptions {
  /** Whether it is offered for new sessions. */
  sessions?: boolean
  /** Whether mail to addresses that never had a session is kept in the pool; not of a wildcard: see addConfiguredDomains. */
  reader?: boolean
  /** Lifetime of its sessions, such as 24h; `default` for the default. */
  ttl?: string
}

/** Undefined if it exists. Throws `invalid_parameter` and, if a key holds it, `domain_held`. */
export async function addDomain(
  store: DomainAdminStore,
  text: string,
  { sessions = true, reader, ttl }: DomainOptions,
): Promise<MailDomain | undefined> {
  const [name, { ttlSeconds = null }] = [parseName(text), parseTtl(ttl)]
  checkReader(name, reader)
  const added = await store.addDomain({
    ...{ name, sessions, reader: reader ?? !isWildcard(name) },
    ttlSeconds: ttlSeconds ?? undefined,
  })
  if (!added && (await store.findDomain(name))?.owner !== undefined) {
    throw new Problem('domain_held', `A key holds ${name}.`)
  }
  return added
}

/** Changes what is given. Throws `invalid_parameter` and `not_found`. */
export async function changeDomain(
  store: DomainAdminStore,
  text: string,
  { ttl, ...change }: DomainOptions & { active?: boolean; removed?: boolean },
): Promise<MailDomain> {
  const name = parseName(text)
  checkReader(name, change.reader)
  const known = await store.findDomain(name)
  if (change.removed === false) throw invalid('removed: add the domain again instead.')
  const changes = { ...change, ...parseTtl(ttl) }
  const changed = known?.removed === false && (await store.changeDomain(name, changes))
  if (!changed) throw new Problem('not_found', `${name} is not one of our domains.`)
  return changed
}

export function domainJson({ id, name, wildcard, ttlSeconds, ...rest }: MailDomain) {
  const ttl = ttlSeconds === undefined ? null : formatDuration(ttlSeconds)
  return { id, name: domainName({ name, wildcard }), ...rest, ttl }
}

function checkReader(name: DomainName, reader: boolean | undefined): void {
  if (!reader || !isWildcard(name)) return
  throw invalid(`reader: add ${name} to the pool with MAYFLY_READER_DOMAINS.`)
}

function parseName(text: string): DomainName {
  const name = parseMailDomain(text)
  if (name) return name
  throw invalid(`name: ${JSON.stringify(text)} is not a domain name.`)
}

/** Null: the default; nothing if it is not given. */
function parseTtl(ttl: string | undefined): { ttlSeconds?: number | null } {
  if (ttl === undefined) return {}
  const ttlSeconds = ttl === 'default' ? null : parseLifetime(ttl)
  if (ttlSeconds === undefined) throw invalid(`ttl: ${LIFETIME_HINT}`)
  return { ttlSeconds }
}

const invalid = (message: string) => new Problem('invalid_parameter', message)
