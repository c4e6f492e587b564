import { type LeaseDeps, untilAborted } from '../base/jobs/lease.ts'
import { type SupervisionTiming, superviseTasks } from '../base/jobs/supervise-tasks.ts'
import { type AccountsDeps, type ActiveAccount, activeAccounts } from './accounts.ts'

interface Deps extends Omit<LeaseDeps, 'store'>, Omit<AccountsDeps, 'store'> {
  store: LeaseDeps['store'] & AccountsDeps['store']
  open(account: ActiveAccount): { close(): Promise<void> }
  ended: AbortSignal
  timing?: SupervisionTiming
}

/**
 * Fetches from the active accounts whose lease this node gets. One login after the other: many at once from one address may
 * look like an attack to the provider.
 */
export async function superviseAccounts(deps: Deps): Promise<void> {
  await superviseTasks({
    ...deps,
    async list() {
      const active = await activeAccounts(deps)
      return active.map((account) => ({
        name: `account ${account.id}`,
        run: (stop: AbortSignal) => fetchFrom(deps, account, stop),
      }))
    },
  })
}

async function fetchFrom(
  { open }: Pick<Deps, 'open'>,
  account: ActiveAccount,
  stop: AbortSignal,
): Promise<void> {
  const opened = open(account)
  await untilAborted(stop)
  await opened.close()
}
