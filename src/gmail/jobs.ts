import { type LeaseDeps, untilAborted } from '../base/jobs/lease.ts'
import { runUntilStopped } from '../base/jobs/repeat.ts'
import { type SupervisionTiming, superviseTasks } from '../base/jobs/supervise-tasks.ts'
import type { Log } from '../base/log/log.ts'
import {
  type AccountsDeps,
  type ActiveAccount,
  activeAccounts,
  addConfiguredAccounts,
} from './accounts.ts'
import { accountMailDeps, type FetchDeps } from './fetch-mail.ts'
import type { AccountSetting } from './settings.ts'

interface ImapConfig {
  gmailAccounts: readonly AccountSetting[]
  smtp: { maxBytes: number }
}

interface ImapDeps extends FetchDeps {
  store: FetchDeps['store'] & LeaseDeps['store']
  config: ImapConfig
  log: Log
}

/** Fetches the mail of the accounts in the operator's file. */
export const imapJob = {
  isNeeded: ({ gmailAccounts }: ImapConfig) => gmailAccounts.length > 0,

  async start({ config: { gmailAccounts, smtp }, ...deps }: ImapDeps) {
    // Loaded here: the main thread does not need it.
    const { openAccount } = await import('./imap/account.ts')
    await addConfiguredAccounts(deps, gmailAccounts)
    const open = ({ id, email }: ActiveAccount) => {
      const setting = gmailAccounts.find((account) => account.email === email)
      if (!setting) throw new Error('an active account is not in the accounts file')
      const mailDeps = {
        ...accountMailDeps(deps, { id, email }),
        random: Math.random,
        log: deps.log,
      }
      return openAccount(mailDeps, { ...setting, limits: { maxBytes: smtp.maxBytes } })
    }
    return runUntilStopped((ended) => superviseAccounts({ ...deps, gmailAccounts, open, ended }))
  },
}

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
        async run(stop: AbortSignal) {
          const opened = deps.open(account)
          await untilAborted(stop)
          await opened.close()
        },
      }))
    },
  })
}
