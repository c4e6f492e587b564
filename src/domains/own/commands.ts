import type { Command } from 'commander'
import { parseHost } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import type { CommandContext } from '../../cli/context.ts'
import { CommandError, type JsonOption, type Print, printJson, table } from '../../cli/output.ts'
import type { MailStore } from '../../mail/store.ts'
import { adminOwnDomainJson } from './admin.ts'
import {
  deleteOwnDomain,
  type OwnDomainDeps,
  resumeOwnDomain,
  suspendOwnDomain,
} from './own-domains.ts'
import type { OwnDomain } from './rules.ts'
import type { OwnDomainStore } from './store.ts'

type OwnDomainContext = Pick<
  CommandContext<
    unknown,
    OwnDomainStore & { waitUntilVisible(): Promise<void> },
    OwnDomainDeps['shop']
  >,
  'withMail' | 'withShop' | 'openLog' | 'now'
>
type CommandDeps = Pick<OwnDomainDeps, 'store' | 'shop' | 'bus' | 'now' | 'log'>

const ACTIONS = {
  suspend: [
    'Refuse mail to a domain until it is resumed',
    suspendOwnDomain,
    (name: string) => `Suspended ${name}: mail to it is refused.`,
  ],
  resume: [
    'Take mail to a suspended domain again',
    resumeOwnDomain,
    (name: string) => `Resumed ${name}.`,
  ],
  remove: [
    'Delete a domain with all its addresses and mail',
    deleteOwnDomain,
    (name: string) => `Removed ${name} with its addresses and mail.`,
  ],
} as const

export function addOwnDomainCommands(
  own: Command,
  { withMail, withShop, openLog, now }: OwnDomainContext,
  print: Print,
): void {
  own.addHelpText('after', '\n<domain> is a name, or the id of a domain.')
  own
    .command('list')
    .description('List the domains of all keys, newest first')
    .option('--json', 'print JSON')
    .action((options: JsonOption) => withMail((store) => printOwnDomains(store, options, print)))
  const withDeps = (operation: (deps: CommandDeps) => Promise<void>) =>
    withMail((store) =>
      withShop(async (shop) => {
        // The service looks for changes by itself.
        const bus = { wake() {} }
        await operation({ store, shop, now, bus, log: await openLog('info') })
        await store.waitUntilVisible()
      }),
    )
  for (const [action, [description, run, done]] of Object.entries(ACTIONS)) {
    own
      .command(`${action} <domain>`)
      .description(description)
      .action((text: string) =>
        withDeps(async (deps) => {
          const { id, name } = await find(deps.store, text)
          const { state, reason } = await run(deps, id).catch(refuse)
          const isStill = action === 'resume' && state === 'suspended'
          print(isStill ? `${name} stays suspended: ${reason}.` : done(name))
        }),
      )
  }
}

/** By its id, or the one that holds the name. */
async function find(store: OwnDomainStore, text: string): Promise<OwnDomain> {
  const name = parseHost(text)
  const found = (await store.findOwnDomain(text)) ?? (name && (await store.findDomainHolder(name)))
  if (found) return found
  throw new CommandError(`No key has ${JSON.stringify(text)}. See: mayfly own-domain list`)
}

async function printOwnDomains(
  store: OwnDomainStore,
  { json }: JsonOption,
  print: Print,
): Promise<void> {
  const domains = await store.listAllOwnDomains({ limit: Number.MAX_SAFE_INTEGER })
  if (json) return printJson(domains.map(adminOwnDomainJson), print)
  if (domains.length === 0) return print('No key has a domain of its own yet.')
  const rows = domains.map(({ id, name, keyId, state, reason = '', taken, refused }) => {
    return [`${id}\n${keyId}`, name, state, String(taken), String(refused), reason]
  })
  const heading = ['ID, KEY', 'DOMAIN', 'STATE', 'TAKEN', 'REFUSED', 'REASON']
  for (const line of table([heading, ...rows])) print(line)
}

/** What a key leaves behind when it is revoked, for the operator: lines, none if there is nothing. */
export function keyHoldings({ withMail, now }: HoldingsContext) {
  return async (keyId: string): Promise<string[]> => {
    const lines: string[] = []
    await withMail(async (store) => void lines.push(...(await holdingsOf(store, keyId, now()))))
    return lines
  }
}

type HoldingsStore = OwnDomainStore & Pick<MailStore, 'listKeySessions'>
type HoldingsContext = Pick<CommandContext<unknown, HoldingsStore>, 'withMail' | 'now'>

async function holdingsOf(store: HoldingsStore, keyId: string, now: Date): Promise<string[]> {
  const domains = (await store.listOwnDomains(keyId)).filter(({ state }) => state !== 'pending')
  if (domains.length === 0) return []
  const page = { keyId, now, beforeId: undefined, limit: Number.MAX_SAFE_INTEGER, permanent: true }
  const addresses = (await store.listKeySessions(page)).map(({ address }) => `  ${address}`)
  return [
    'Mail to its domains is taken for 30 more days, and can be read only with the tokens of their addresses. To end that: mayfly own-domain remove',
    ...domains.map(({ name }) => `  ${name}`),
    ...(addresses.length === 0 ? [] : ['Its permanent addresses:', ...addresses]),
  ]
}

function refuse(error: unknown): never {
  throw error instanceof Problem ? new CommandError(error.message) : error
}
