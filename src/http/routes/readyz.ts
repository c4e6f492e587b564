import { Type } from 'typebox'
import { Problem } from '../../core/problem.ts'
import { unreadiness } from '../../service/readiness.ts'
import { isOperatorCall } from '../admin.ts'
import { success } from '../answer.ts'
import { route } from '../route.ts'
import { successField } from '../shapes.ts'

const RETRY_SECONDS = 5

export const readyzRoute = route({
  method: 'GET',
  path: '/readyz',
  title: 'Ready',
  about:
    'Whether mail can be taken and kept at this moment. The reason needs the admin token when one is set.',
  input: Type.Object({}),
  output: Type.Object({ status: successField }),
  refusals: ['overloaded', 'shutting_down'],
  uncounted: true,
  operator: true,
  async handle(_input, needs, call) {
    if (needs.closing()) throw new Problem('shutting_down', 'The service is stopping.', 1)
    const reason = await unreadiness(needs)
    if (reason === undefined) return success({})
    const told = isOperatorCall(needs.adminToken, call) ? reason : 'No mail can be kept now.'
    throw new Problem('overloaded', told, RETRY_SECONDS)
  },
})
