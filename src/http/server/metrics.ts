import { Counter } from 'prom-client'

/** By route, then status class. Incrementing a label of prom-client costs a microsecond. */
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
