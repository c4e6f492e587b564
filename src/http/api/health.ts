import { Type } from 'typebox'
import { Problem } from '../../core/problem.ts'
import { notReadyReason } from '../../service/background/outage.ts'
import { accountStatuses } from '../../service/sessions/accounts.ts'
import { isOperatorRequest } from '../server/credentials.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { successField } from './schemas.ts'

export const livezRoute = route({
  method: 'GET',
  path: '/livez',
  title: 'Liveness',
  about: 'Responds while the process is alive.',
  input: Type.Object({}),
  output: Type.Object({ status: successField }),
  problems: [],
  unlimited: true,
  async handle() {
    return success({})
  },
})

const RETRY_SECONDS = 5

export const readyzRoute = route({
  method: 'GET',
  path: '/readyz',
  title: 'Readiness',
  about:
    'Whether mail can be received and stored now. With an admin token configured, the reason and the health of each Gmail account are returned to the operator only. Neither a failing account nor a warning makes the service unready.',
  input: Type.Object({}),
  output: Type.Object({
    status: successField,
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Problems that do not stop mail, such as a system clock that jumped ahead, which pauses the deletion of expired mail.',
      }),
    ),
    gmail_accounts: Type.Optional(
      Type.Array(
        Type.Object({
          id: Type.Integer({ examples: [1] }),
          email: Type.String({ examples: ['someone@gmail.com'] }),
          health: Type.String({ description: 'starting, ok, slow or failing', examples: ['ok'] }),
          reason: Type.String({ description: 'What is wrong; empty if nothing is.' }),
          aliases: Type.Integer({ examples: [12] }),
        }),
      ),
    ),
  }),
  problems: ['overloaded', 'shutting_down'],
  operator: true,
  async handle(_input, deps, request) {
    if (deps.draining()) throw new Problem('shutting_down', 'The service is shutting down.', 1)
    // A load balancer must see that we are ready, however many requests it forwards.
    const isOperator = await isOperatorRequest(
      deps,
      request.isTrustedProxy() ? { ...request, client: undefined } : request,
    )
    const reason = await notReadyReason(deps)
    if (reason !== undefined) {
      const message = isOperator ? reason : 'Mail cannot be stored now.'
      throw new Problem('overloaded', message, RETRY_SECONDS)
    }
    if (!isOperator) return success({})
    const warnings = await deps.warnings()
    const accounts = await accountStatuses(deps)
    return success({
      ...(warnings.length > 0 ? { warnings } : {}),
      ...(accounts.length > 0 ? { gmail_accounts: accounts } : {}),
    })
  },
})
