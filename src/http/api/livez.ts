import { Type } from 'typebox'
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
  refusals: [],
  uncounted: true,
  async handle() {
    return success({})
  },
})
