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
  about: 'Answers as long as the process does.',
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
    'Whether mail can be taken and kept at this moment. The reason, and how each Gmail account is doing, need the admin token when one is set. An account that fails does not make us unready: all else goes on. Neither does a warning.',
  input: Type.Object({}),
  output: Type.Object({
    status: successField,
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'What needs attention, though mail is received and kept: such as a system clock that jumped ahead, which pauses the deletion of expired mail.',
      }),
    ),
    gmail_accounts: Type.Optional(
      Type.Array(
        Type.Object({
          id: Type.Integer({ examples: [1] }),
          email: Type.String({ examples: ['someone@gmail.com'] }),
          health: Type.String({ description: 'starting, ok, slow or failing', examples: ['ok'] }),
          reason: Type.String({ description: 'What is wrong; empty when nothing is.' }),
          aliases: Type.Integer({ examples: [12] }),
        }),
      ),
    ),
  }),
  problems: ['overloaded', 'shutting_down'],
  operator: true,
  async handle(_input, deps, request) {
    if (deps.draining()) throw new Problem('shutting_down', 'The service is stopping.', 1)
    // A load balancer must hear that we are ready, whatever others ask through it.
    const isOperator = await isOperatorRequest(
      deps,
      request.isTrustedProxy() ? { ...request, client: undefined } : request,
    )
    const reason = await notReadyReason(deps)
    if (reason !== undefined) {
      const told = isOperator ? reason : 'No mail can be kept now.'
      throw new Problem('overloaded', told, RETRY_SECONDS)
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
