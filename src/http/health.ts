import { Type } from 'typebox'
import type { Awaitable } from '../base/awaitable.ts'
import { notReadyReason } from '../base/jobs/outage.ts'
import { Problem } from '../base/problem.ts'
import type { AccountsDeps } from '../gmail/accounts.ts'
import { accountReadiness, readAccountReadiness } from '../gmail/health.ts'
import { hasAdminToken, isOperatorRequest, isRateLimited } from './server/credentials.ts'
import type { ServerDeps } from './server/deps.ts'
import { takeRate } from './server/rates.ts'
import type { HttpRequest } from './server/request.ts'
import { contentResponse, success } from './server/response.ts'
import { route } from './server/route.ts'
import { successSchema } from './server/schemas.ts'

interface OwnDeps extends ServerDeps {
  store: { storageFault(): Awaitable<{ reason: string } | undefined> }
  /** Prometheus text of the whole process. */
  metrics(): Promise<string>
  /** Problems the operator should know about that do not stop the service. */
  warnings(): Promise<string[]>
}

export type HealthDeps = OwnDeps & AccountsDeps

export const livezRoute = route({
  method: 'GET',
  path: '/livez',
  name: 'check-liveness',
  title: 'Liveness',
  description: 'Responds while the process is alive.',
  output: successSchema({}),
  unlimited: true,
  async handle() {
    return success({})
  },
})

const RETRY_SECONDS = 5

export const readyzRoute = route({
  method: 'GET',
  path: '/readyz',
  name: 'check-readiness',
  title: 'Readiness',
  description:
    'Whether mail can be received and stored now. With an admin token configured, the reason and the health of each Gmail account are returned to the operator only. Neither a failing account nor a warning makes the service unready.',
  output: successSchema({
    client: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'The client address that rate limits apply to; null if they do not apply. Shows whether a proxy passes on client addresses.',
        examples: ['203.0.113.9'],
      }),
    ),
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Problems that do not stop mail, such as a system clock that jumped ahead, which pauses the deletion of expired mail, or a ledger of addresses that is incomplete after a restore.',
      }),
    ),
    ...accountReadiness,
  }),
  problems: ['overloaded', 'shutting_down'],
  operator: true,
  async handle(_input, deps: HealthDeps, request) {
    if (deps.draining()) throw new Problem('shutting_down', 'The service is shutting down.', 1)
    const isOperator = await seesDetails(deps, request)
    const reason = await notReadyReason(deps)
    if (reason !== undefined) {
      const message = isOperator ? reason : 'Mail cannot be stored now.'
      throw new Problem('overloaded', message, RETRY_SECONDS)
    }
    if (!isOperator) return success({})
    const warnings = await deps.warnings()
    return success({
      ...(request.headers.authorization === undefined ? {} : { client: request.client ?? null }),
      ...(warnings.length > 0 ? { warnings } : {}),
      ...(await readAccountReadiness(deps)),
    })
  },
})

/** Too many wrong tokens are the same as none: to a monitor, 429 would be an outage. */
async function seesDetails(deps: HealthDeps, request: HttpRequest): Promise<boolean> {
  try {
    if (await hasAdminToken(deps, request)) return true
  } catch (error) {
    if (!isRateLimited(error)) throw error
  }
  // A load balancer must see that we are ready, however many requests it forwards.
  const { client } = request
  if (client !== undefined && !request.isTrustedProxy()) await takeRate(deps, 'health', client)
  return deps.adminToken === ''
}

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8'

export const metricsRoute = route({
  method: 'GET',
  path: '/metrics',
  name: 'get-metrics',
  title: 'Metrics',
  description: 'Prometheus metrics of the process. Requires the admin token if one is configured.',
  output: 'text/plain',
  problems: ['invalid_token'],
  operator: true,
  async handle(_input, deps: HealthDeps, request) {
    if (!(await isOperatorRequest(deps, request))) {
      throw new Problem('invalid_token', 'Send the admin token as Authorization: Bearer.')
    }
    const text = await deps.metrics()
    return contentResponse(PROMETHEUS_TEXT, text, { 'cache-control': 'no-store' })
  },
})
