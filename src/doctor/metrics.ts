import { maskAccountEmail, parseAddress } from '../base/address.ts'
import { gaugeOf, type Metric } from '../base/metrics.ts'
import type { CheckRun } from './rules/result.ts'
import type { CheckRunStore } from './store.ts'

interface MetricsDeps {
  store: Pick<CheckRunStore, 'readCheckRun'>
  config: { dailyChecks: boolean }
}

const VALUES = { ok: 0, warning: 1, failure: 2 } as const

/** The same on every node; without values before the first run, and where no daily run would replace them. */
export async function checkMetrics({ store, config }: MetricsDeps): Promise<Metric[]> {
  const run = config.dailyChecks ? await store.readCheckRun() : undefined
  return [
    gaugeOf(
      'mayfly_check_status',
      'Daily checks of the installation, as by mayfly doctor: 0 ok, 1 warning, 2 failure',
      statusValues(run?.checks ?? []),
    ),
    gaugeOf(
      'mayfly_checks_last_run_timestamp_seconds',
      'When the daily checks last ran, in Unix time',
      run ? [{ labels: {}, value: run.finishedAt.getTime() / 1000 }] : [],
    ),
  ]
}

/** Addresses of accounts are masked; those that look the same then have the worst of their results. */
function statusValues(checks: CheckRun['checks']) {
  const byLabels = new Map<string, { labels: Record<string, string>; value: number }>()
  for (const { name: check, subject = '', status } of checks) {
    if (status === 'skipped') continue
    const account = parseAddress(subject)
    const labels = { check, subject: account ? maskAccountEmail(account) : subject }
    const key = JSON.stringify(labels)
    const value = Math.max(byLabels.get(key)?.value ?? 0, VALUES[status])
    byLabels.set(key, { labels, value })
  }
  return [...byLabels.values()]
}
