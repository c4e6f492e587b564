import { Type } from 'typebox'
import type { AccountHealth } from '../../core/gmail.ts'
import { Problem, StoreUnavailable } from '../../core/problem.ts'
import { accountStatuses } from '../../service/sessions/accounts.ts'
import { isOperatorRequest } from '../server/credentials.ts'
import type { RouteDeps } from '../server/deps.ts'
import { contentResponse } from '../server/response.ts'
import { route } from '../server/route.ts'

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8'

export const metricsRoute = route({
  method: 'GET',
  path: '/metrics',
  title: 'Metrics',
  about: 'Prometheus metrics of the process. Requires the admin token if one is configured.',
  input: Type.Object({}),
  output: 'text/plain',
  problems: ['invalid_token'],
  operator: true,
  async handle(_input, deps, request) {
    if (!(await isOperatorRequest(deps, request))) {
      throw new Problem('invalid_token', 'Send the admin token as Authorization: Bearer.')
    }
    const lines = `${await deps.metrics()}${await accountLines(deps)}`
    return contentResponse(PROMETHEUS_TEXT, lines, { 'cache-control': 'no-store' })
  },
})

/** Empty while the store is unavailable: the other metrics are most useful then. */
async function accountLines(deps: RouteDeps): Promise<string> {
  try {
    return accountMetrics(await accountStatuses(deps))
  } catch (error) {
    if (error instanceof StoreUnavailable) return ''
    throw error
  }
}

const HEALTHS: readonly AccountHealth[] = ['starting', 'ok', 'slow', 'failing']

/** Computed on request: the store has it for the whole installation, and gauges of several threads would be summed. */
function accountMetrics(accounts: readonly { health: AccountHealth }[]): string {
  const lines = HEALTHS.map((health) => {
    const count = accounts.filter((account) => account.health === health).length
    return `mayfly_gmail_accounts{health="${health}"} ${count}`
  })
  return [
    '# HELP mayfly_gmail_accounts Active Gmail accounts by health',
    '# TYPE mayfly_gmail_accounts gauge',
    ...lines,
    '',
  ].join('\n')
}
