import type { Command } from 'commander'
import { domainName, type MailDomain } from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import type { CommandContext } from '../cli/context.ts'
import { CommandError, type JsonOption, type Print, printJson, table } from '../cli/output.ts'
import type { DomainAdminStore } from '../mail/sessions/domains.ts'
import { addDomain, changeDomain, domainJson } from './domains.ts'

interface AddOptions {
  sessions: boolean
  reader: boolean
  ttl?: string
}

export function addDomainCommands(
  domain: Command,
  { withMail }: Pick<CommandContext<unknown, DomainAdminStore>, 'withMail'>,
  print: Print,
): void {
  domain
    .command('list')
    .description('List mail domains')
    .option('--json', 'print JSON')
    .option('--all', 'include removed domains')
    .action((options: JsonOption & { all?: boolean }) =>
      withMail((store) => printDomains(store, options, print)),
    )
  domain
    .command('add <name>')
    .description(
      "Accept mail for a domain, or for the subdomains of '*.name'; a removed domain gets its old id back",
    )
    .option('--no-sessions', 'do not offer it for new sessions')
    .option('--no-reader', 'reject mail to addresses that never had a session, as wildcards do')
    .option('--ttl <duration>', 'lifetime of its sessions, such as 2h')
    .action((name: string, options: AddOptions) =>
      withMail((store) => addAndPrint(store, name, options, print)),
    )
  for (const [action, description] of [
    ['remove', 'Stop creating sessions there; existing ones expire normally'],
    ['activate', 'Offer a domain again'],
    ['deactivate', 'Stop offering a domain'],
  ] as const) {
    domain
      .command(`${action} <name>`)
      .description(description)
      .action((name: string) => withMail((store) => changeAndPrint(store, name, action, print)))
  }
}

export async function printDomains(
  store: DomainAdminStore,
  { json, all }: JsonOption & { all?: boolean },
  print: Print,
): Promise<void> {
  const domains = (await store.listDomains()).filter(({ removed }) => all || !removed)
  if (json) return printJson(domains.map(domainJson), print)
  const rows = domains.map((domain) => [
    String(domain.id),
    domainName(domain),
    stateOf(domain),
    domain.sessions ? 'yes' : 'no',
    domain.reader ? 'yes' : 'no',
    domainJson(domain).ttl ?? 'default',
  ])
  const heading = ['ID', 'NAME', 'STATE', 'SESSIONS', 'READER', 'LIFETIME']
  for (const line of table([heading, ...rows])) print(line)
}

export async function addAndPrint(
  store: DomainAdminStore,
  text: string,
  options: AddOptions,
  print: Print,
): Promise<void> {
  const { reader, ...rest } = options
  const added = await addDomain(store, text, reader ? rest : options).catch(refuse)
  if (!added) throw new CommandError(`${text} already exists. See: mayfly domain list`)
  print(`Added ${domainName(added)} (id ${added.id}).`)
}

const CHANGES = {
  remove: [
    { removed: true },
    (name: string) => `Removed ${name}. Existing sessions expire normally.`,
  ],
  activate: [{ active: true }, (name: string) => `Activated ${name}.`],
  deactivate: [
    { active: false },
    (name: string) => `Deactivated ${name}: it is no longer offered.`,
  ],
} as const

export async function changeAndPrint(
  store: DomainAdminStore,
  text: string,
  action: keyof typeof CHANGES,
  print: Print,
): Promise<void> {
  const [change, done] = CHANGES[action]
  print(done(domainName(await changeDomain(store, text, change).catch(refuse))))
}

function stateOf({ active, removed }: MailDomain): string {
  if (removed) return 'removed'
  return active ? 'active' : 'inactive'
}

function refuse(error: unknown): never {
  if (!(error instanceof Problem)) throw error
  if (error.code === 'invalid_parameter') throw new CommandError(error.message, 2)
  const list = error.code === 'domain_held' ? 'own-domain' : 'domain'
  throw new CommandError(`${error.message} See: mayfly ${list} list`)
}
