import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

// The files of deploy/ for Prometheus and Grafana.

export const PROMETHEUS = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url))

interface Alert {
  alert: string
  expr: string
  for: string
  annotations: { summary: string }
}

export function readAlerts(): Alert[] {
  const { groups } = parse(readFileSync(`${PROMETHEUS}alerts.yml`, 'utf8'))
  return groups.flatMap(({ rules }: { rules: Alert[] }) => rules)
}

/** The queries of the dashboard, with the values that Grafana puts in. */
export function dashboardQueries(): string[] {
  const file = new URL('../../deploy/grafana/mayfly.json', import.meta.url)
  const { panels } = JSON.parse(readFileSync(file, 'utf8'))
  return panels
    .flatMap(({ targets = [] }: { targets?: { expr: string }[] }) => targets)
    .map(({ expr }: { expr: string }) =>
      expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'),
    )
}

/** The metrics that queries name, as they are served: of a histogram, without `_bucket`. */
export function metricsIn(queries: readonly string[]): string[] {
  const names = queries.flatMap((query) => query.match(/\b(?:mayfly|process)_[a-z0-9_]+/g) ?? [])
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))].sort()
}
