import { Counter, Gauge } from 'prom-client'
import type { AccountHealth } from '../../core/gmail.ts'

// One registry per thread; the main thread adds them up.

/** Waits and streams that are open. */
export const longPollsGauge = new Gauge({
  name: 'mayfly_http_waiting',
  help: 'Requests that wait for mail, and open event streams',
})

export const connectionsRefused = new Counter({
  name: 'mayfly_http_connections_refused_total',
  help: 'Connections refused, by the limit that they exceeded: of one address, or of all',
  labelNames: ['limit'],
})

/** By route and then by class of status. prom-client's own labels cost a microsecond each time, this next to nothing. */
const responseCounts = new Map<string, number[]>()

export function countResponse(route: string, status: number): void {
  const classes = responseCounts.get(route) ?? [0, 0, 0, 0, 0, 0]
  if (!responseCounts.has(route)) responseCounts.set(route, classes)
  const at = Math.trunc(status / 100)
  classes[at] = (classes[at] ?? 0) + 1
}

new Counter({
  name: 'mayfly_http_requests_total',
  help: 'Requests answered, by route and class of status',
  labelNames: ['route', 'status'],
  collect() {
    this.reset()
    for (const [route, classes] of responseCounts) {
      for (const [at, count] of classes.entries()) {
        if (count > 0) this.inc({ route, status: `${at}xx` }, count)
      }
    }
  },
})

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
