import type { Command } from 'commander'
import type { CommandContext } from '../../cli/context.ts'
import { CommandError, formatTime, type Print } from '../../cli/output.ts'
import { distrustLedger, type LedgerDeps, trustLedger } from '../ledger.ts'
import { type LedgerState, ledgerWarning } from '../rules/ledger.ts'
import type { LifetimeLimits } from '../rules/session.ts'

type LedgerContext = Pick<
  CommandContext<{ sessions: LifetimeLimits & { cooldownMs: number } }, LedgerDeps['store']>,
  'config' | 'withMail' | 'now'
>

export function addLedgerCommands(ledger: Command, context: LedgerContext, print: Print): void {
  const withLedger = (operation: (deps: LedgerDeps) => Promise<void>) => {
    const { cooldownMs, ...lifetimes } = context.config().sessions
    const { now } = context
    return context.withMail((store) => operation({ store, lifetimes, cooldownMs, now }))
  }
  ledger
    .command('show')
    .description('Show whether it has every address that belonged to a session')
    .action(() => withLedger((deps) => showLedger(deps, print)))
  ledger
    .command('distrust')
    .description(
      'After the database was lost, or an older state was restored: refuse mail for addresses that are not known',
    )
    .action(() => withLedger((deps) => distrust(deps, print)))
  ledger
    .command('trust')
    .description('Treat it as complete, although addresses may be missing')
    .option('--accept-risk', 'required, unless it is complete')
    .action(({ acceptRisk = false }: { acceptRisk?: boolean }) =>
      withLedger((deps) => trust(deps, acceptRisk, print)),
    )
}

async function showLedger(deps: LedgerDeps, print: Print): Promise<void> {
  const state = await readState(deps)
  const warning = ledgerWarning(state)
  if (warning === undefined) return print(stateText(state))
  print(`${warning.charAt(0).toUpperCase()}${warning.slice(1)}.`)
  print('To end this earlier, and for what it risks: mayfly ledger trust')
}

function stateText({ pruned }: LedgerState): string {
  return pruned
    ? 'The ledger of addresses is empty, because the pool is off.'
    : 'The ledger of addresses is complete.'
}

async function distrust(deps: LedgerDeps, print: Print): Promise<void> {
  const { unknownUntil, ownDomains } = await distrustLedger(deps)
  print(
    `Until ${formatTime(unknownUntil)}, mail for addresses without a session is refused, and new addresses are random.`,
  )
  if (ownDomains === 0) return
  print('Domains of key holders take mail again once their records have been found.')
  print('Permanent addresses need new tokens: POST /sessions/roll-token.')
}

const RISKS = [
  'Addresses may be missing from the ledger: those of sessions that this installation does not know. If you trust it,',
  '  - mail for them goes to the pool, where every key can read it;',
  '  - somebody else can choose such an address, and receives the mail for it.',
]

async function trust(deps: LedgerDeps, acceptRisk: boolean, print: Print): Promise<void> {
  const state = await readState(deps)
  if (!state.unknownUntil) return print(stateText(state))
  for (const line of RISKS) print(line)
  if (!acceptRisk) throw new CommandError('Nothing was changed. To accept that: --accept-risk')
  await trustLedger(deps)
  print('The ledger is trusted from now on.')
}

async function readState({ store }: LedgerDeps): Promise<LedgerState> {
  const state = await store.readLedger()
  if (!state)
    throw new CommandError('There is no ledger yet: the service creates it when it starts.')
  return state
}
