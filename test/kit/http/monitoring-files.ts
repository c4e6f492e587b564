import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

// The files of deploy/ for Prometheus and Grafana.

export const PROMETHEUS = fileURLToPath(new URL('../../../deploy/prometheus/', import.meta.url))

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
  const file = new URL('../../../deploy/grafana/mayfly.json', import.meta.url)
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

// Prometheus adds them to every sample.
const SCRAPE_LABELS = new Set(['instance', 'job'])

/** `metric label` for each label that a query selects or groups by. */
export function labelsIn(query: string): string[] {
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) =>
    names.split(/,\s*/),
  )
  // Made by the query itself.
  const made = [...query.matchAll(/label_replace\(.*?, "(\w+)", "\$1"/g)].map(([, name]) => name)
  const selectors = [...query.matchAll(/\b((?:mayfly|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)]
  return selectors.flatMap(([, metric, matchers = '']) => {
    const selected = [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, name]) => name)
    const names = [...selected, ...grouped.filter((name) => !made.includes(name))]
    return (
      names
        .filter((name) => name !== undefined && !SCRAPE_LABELS.has(name))
        // A histogram without observations has no samples yet.
        .filter((name) => name !== 'le' || !metric?.endsWith('_bucket'))
        .map((name) => `${metric} ${name}`)
    )
  })
}

/** `metric label` for each label of the samples. */
export function labelsServed(text: string): string[] {
  return [...text.matchAll(/^(\w+)\{(.*)\} /gm)].flatMap(([, metric, labels = '']) =>
    [...labels.matchAll(/(\w+)="/g)].map(([, name]) => `${metric} ${name}`),
  )
}
