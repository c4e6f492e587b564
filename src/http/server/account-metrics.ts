import type { AccountHealth } from '../../core/gmail.ts'

const HEALTHS: readonly AccountHealth[] = ['starting', 'ok', 'slow', 'failing']

/**
 * How many accounts are in each state, as Prometheus text. Written when it is asked for: the store knows it for the whole
 * house, and gauges of several threads would be added up.
 */
export function accountMetrics(accounts: readonly { health: AccountHealth }[]): string {
  const lines = HEALTHS.map((health) => {
    const count = accounts.filter((account) => account.health === health).length
    return `mayfly_gmail_accounts{health="${health}"} ${count}`
  })
  return [
    '# HELP mayfly_gmail_accounts Gmail accounts whose aliases are given out, by health',
    '# TYPE mayfly_gmail_accounts gauge',
    ...lines,
    '',
  ].join('\n')
}
