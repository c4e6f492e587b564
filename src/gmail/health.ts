import { Type } from 'typebox'
import { gaugeOf, type Metric } from '../base/metrics.ts'
import { named, shareSchema } from '../http/server/schemas.ts'
import { type AccountsDeps, activeAccounts, displayEmail } from './accounts.ts'
import type { AccountHealth, ConfiguredAccount } from './rules.ts'

// What /readyz, /metrics and the operator's overview say about the accounts.

const HEALTHS = ['starting', 'ok', 'slow', 'failing'] as const satisfies AccountHealth[]

export const accountReadiness = {
  gmail_accounts: Type.Optional(
    Type.Array(
      named('GmailAccountHealth', {
        id: Type.Integer({ examples: [1] }),
        email: Type.String({ examples: ['someone@gmail.com'] }),
        health: Type.String({ description: 'starting, ok, slow or failing', examples: ['ok'] }),
        reason: Type.String({ description: 'What is wrong; empty if nothing is.' }),
        aliases: Type.Integer({ examples: [12] }),
      }),
    ),
  ),
}

export async function readAccountReadiness(deps: AccountsDeps) {
  const accounts = (await activeAccounts(deps)).map((account) => {
    const { id, health, reason, aliases } = account
    return { id, email: displayEmail(account), health, reason, aliases }
  })
  return accounts.length > 0 ? { gmail_accounts: accounts } : {}
}

export const accountFigures = { gmail_accounts: shareSchema }

export async function readAccountFigures(deps: AccountsDeps) {
  const accounts = await activeAccounts(deps)
  const failing = accounts.filter(({ health }) => health === 'failing').length
  return { gmail_accounts: { all: accounts.length, failing } }
}

interface MetricsDeps extends Omit<AccountsDeps, 'gmailAccounts'> {
  config: { gmailAccounts: readonly ConfiguredAccount[] }
}

/** Read from the store, which has it for the whole installation. */
export async function accountMetrics({ config, ...deps }: MetricsDeps): Promise<Metric[]> {
  const { gmailAccounts } = config
  const accounts = await activeAccounts({ ...deps, gmailAccounts })
  const values = HEALTHS.map((health) => {
    const value = accounts.filter((account) => account.health === health).length
    return { labels: { health }, value }
  })
  return [gaugeOf('mayfly_gmail_accounts', 'Active Gmail accounts by health', values)]
}
