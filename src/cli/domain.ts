import { type Host, type MailDomain, parseHost } from '../core/address.ts'
import { MAX_LIFETIME_SECONDS, MIN_LIFETIME_SECONDS } from '../core/session.ts'
import { formatDuration, parseDuration } from '../core/time.ts'
import type { DomainAdminStore } from '../service/sessions/domains.ts'
import { type Print, Refused, table } from './output.ts'

export interface AddOptions {
  sessions: boolean
  reader: boolean
  ttl?: string
}

/** `mayfly domain list` */
export async function printDomains(
  book: DomainAdminStore,
  { json, all }: { json?: boolean; all?: boolean },
  print: Print,
): Promise<void> {
  const domains = (await book.listDomains()).filter(({ removed }) => all || !removed)
  if (json) {
    print(JSON.stringify(domains, null, 2))
    return
  }
  const rows = domains.map((domain) => [
    String(domain.id),
    domain.name,
    stateOf(domain),
    domain.sessions ? 'yes' : 'no',
    domain.reader ? 'yes' : 'no',
    domain.ttlSeconds === undefined ? 'usual' : formatDuration(domain.ttlSeconds),
  ])
  for (const line of table([['ID', 'NAME', 'STATE', 'SESSIONS', 'READER', 'LIFE'], ...rows])) {
    print(line)
  }
}

/** `mayfly domain add`: a removed one comes back under its old id. */
export async function addDomain(
  book: DomainAdminStore,
  text: string,
  { sessions, reader, ttl }: AddOptions,
  print: Print,
): Promise<void> {
  const name = domainName(text)
  const added = await book.addDomain({ name, sessions, reader, ttlSeconds: lifeOf(ttl) })
  if (!added) throw new Refused(`${name} is there already. See: mayfly domain list`)
  print(`${name} takes mail now; its id is ${added.id}.`)
}

/** `mayfly domain remove`: no new sessions; live ones end normally. */
export async function removeDomain(
  book: DomainAdminStore,
  text: string,
  print: Print,
): Promise<void> {
  const name = await knownName(book, text)
  await book.changeDomain(name, { removed: true })
  print(`${name} is removed. Sessions that live there end normally.`)
}

/** `mayfly domain activate` and `deactivate` */
export async function switchDomain(
  book: DomainAdminStore,
  text: string,
  active: boolean,
  print: Print,
): Promise<void> {
  const name = await knownName(book, text)
  await book.changeDomain(name, { active })
  print(active ? `${name} is active.` : `${name} is not active: it is not offered to anybody.`)
}

function stateOf({ active, removed }: MailDomain): string {
  if (removed) return 'removed'
  return active ? 'active' : 'inactive'
}

function domainName(text: string): Host {
  const name = parseHost(text)
  if (name?.includes('.')) return name
  throw new Refused(`${JSON.stringify(text)} is no domain name.`, 2)
}

async function knownName(book: DomainAdminStore, text: string): Promise<Host> {
  const name = domainName(text)
  const known = await book.findDomain(name)
  if (known && !known.removed) return name
  throw new Refused(`${name} is not one of our domains. See: mayfly domain list`)
}

function lifeOf(ttl: string | undefined): number | undefined {
  if (ttl === undefined) return undefined
  const seconds = parseDuration(ttl) ?? 0
  if (seconds >= MIN_LIFETIME_SECONDS && seconds <= MAX_LIFETIME_SECONDS) return seconds
  throw new Refused(
    `--ttl ${JSON.stringify(ttl)}: write a life of 1m to 3650d, such as 90s, 15m, 24h or 30d.`,
    2,
  )
}
