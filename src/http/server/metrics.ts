import { counter, histogram, registerMetric } from '../../base/metrics.ts'

export const tokenRefusals = counter(
  'mayfly_admin_token_refusals_total',
  'Wrong admin tokens, and tokens refused because there were too many wrong ones',
  'reason',
  ['wrong', 'rate_limited'],
)

let exposedTokens = 0

/** The admin token, which others may have read. */
export function countExposedToken(): void {
  exposedTokens += 1
}

registerMetric(() => ({
  name: 'mayfly_admin_token_exposed_total',
  help: 'Requests with the admin token that came from the Internet without TLS',
  type: 'counter',
  aggregator: 'sum',
  values: [{ labels: {}, value: exposedTokens }],
}))

/** By route, then status class. */
const responseCounts = new Map<string, number[]>()

const requestSeconds = histogram(
  'mayfly_http_request_seconds',
  'Time until a response was ready, by route; without requests that waited for mail, and streams',
  'route',
)

/** Without `seconds`, the time is not counted. */
export function countResponse(route: string, status: number, seconds: number | undefined): void {
  const classes = responseCounts.get(route) ?? [0, 0, 0, 0, 0, 0]
  if (!responseCounts.has(route)) responseCounts.set(route, classes)
  const at = Math.trunc(status / 100)
  classes[at] = (classes[at] ?? 0) + 1
  if (seconds !== undefined) requestSeconds.observe(route, seconds)
}

/** Starts now. A request that waits for mail takes as long as the client wants: its time is not counted. */
export function requestTimer() {
  const startedAt = performance.now()
  let waits = false
  return {
    onWait(): void {
      waits = true
    },
    secondsTaken: () => (waits ? undefined : (performance.now() - startedAt) / 1000),
  }
}

registerMetric(() => ({
  name: 'mayfly_http_requests_total',
  help: 'Requests answered, by route and class of status',
  type: 'counter',
  aggregator: 'sum',
  values: [...responseCounts].flatMap(([route, classes]) =>
    classes.flatMap((value, at) =>
      // Errors from the start, so that the first of a route is an increase.
      value > 0 || at === 5 ? [{ labels: { route, status: `${at}xx` }, value }] : [],
    ),
  ),
}))
