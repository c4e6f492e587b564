import type { Command } from 'commander'
import type { Host, MailDomain } from '../base/address.ts'
import { formatDuration } from '../base/time.ts'
import {
  CommandError,
  type JsonOption,
  type Print,
  parseDomain,
  printJson,
  table,
} from '../cli/output.ts'
import { LIFETIME_HINT, parseLifetime } from '../mail/rules/session.ts'
import type { DomainAdminStore } from '../mail/sessions/domains.ts'

export interface DomainActions {
  withDomains(operation: (store: DomainAdminStore) => Promise<void>): Promise<void>
}

interface AddOptions {
  sessions: boolean
  reader: boolean
  ttl?: string
}

export function addDomainCommands(
  domain: Command,
  { withDomains }: DomainActions,
  print: Print,
): void {
  domain
    .command('list')
    .description('List mail domains')
    .option('--json', 'print JSON')
    .option('--all', 'include removed domains')
    .action((options: JsonOption & { all?: boolean }) =>
      withDomains((store) => printDomains(store, options, print)),
    )
  domain
    .command('add <name>')
    .description('Accept mail for a domain; a removed domain gets its old id back')
    .option('--no-sessions', 'do not offer it for new sessions')
    .option('--no-reader', 'reject mail to addresses that never had a session')
    .option('--ttl <duration>', 'lifetime of its sessions, such as 2h')
    .action((name: string, options: AddOptions) =>
      withDomains((store) => addDomain(store, name, options, print)),
    )
  domain
    .command('remove <name>')
    .description('Stop creating sessions there; existing ones expire normally')
    .action((name: string) => withDomains((store) => removeDomain(store, name, print)))
  domain
    .command('activate <name>')
    .description('Offer a domain again')
    .action((name: string) => withDomains((store) => switchDomain(store, name, true, print)))
  domain
    .command('deactivate <name>')
    .description('Stop offering a domain')
    .action((name: string) => withDomains((store) => switchDomain(store, name, false, print)))
}

export async function printDomains(
  store: DomainAdminStore,
  { json, all }: JsonOption & { all?: boolean },
  print: Print,
): Promise<void> {
  const domains = (await store.listDomains()).filter(({ removed }) => all || !removed)
  if (json) return printJson(domains, print)
  const rows = domains.map((domain) => [
    String(domain.id),
    domain.name,
    stateOf(domain),
    domain.sessions ? 'yes' : 'no',
    domain.reader ? 'yes' : 'no',
    domain.ttlSeconds === undefined ? 'default' : formatDuration(domain.ttlSeconds),
  ])
  const heading = ['ID', 'NAME', 'STATE', 'SESSIONS', 'READER', 'LIFETIME']
  for (const line of table([heading, ...rows])) print(line)
}

export async function addDomain(
  store: DomainAdminStore,
  text: string,
  { sessions, reader, ttl }: AddOptions,
  print: Print,
): Promise<void> {
  const name = parseDomain(text)
  const added = await store.addDomain({ name, sessions, reader, ttlSeconds: parseTtl(ttl) })
  if (!added) throw new CommandError(`${name} already exists. See: mayfly domain list`)
  print(`Added ${name} (id ${added.id}).`)
}

export async function removeDomain(store: DomainAdminStore, text: string, print: Print) {
  const name = await existingDomain(store, text)
  await store.changeDomain(name, { removed: true })
  print(`Removed ${name}. Existing sessions expire normally.`)
}

export async function switchDomain(
  store: DomainAdminStore,
  text: string,
  active: boolean,
  print: Print,
): Promise<void> {
  const name = await existingDomain(store, text)
  await store.changeDomain(name, { active })
  print(active ? `Activated ${name}.` : `Deactivated ${name}: it is no longer offered.`)
}

function stateOf({ active, removed }: MailDomain): string {
  if (removed) return 'removed'
  return active ? 'active' : 'inactive'
}

async function existingDomain(store: DomainAdminStore, text: string): Promise<Host> {
  const name = parseDomain(text)
  const known = await store.findDomain(name)
  if (known && !known.removed) return name
  throw new CommandError(`${name} is not one of our domains. See: mayfly domain list`)
}

function parseTtl(ttl: string | undefined): number | undefined {
  if (ttl === undefined) return undefined
  const seconds = parseLifetime(ttl)
  if (seconds !== undefined) return seconds
  throw new CommandError(`--ttl ${JSON.stringify(ttl)}: ${LIFETIME_HINT}`, 2)
}
