import { Type } from 'typebox'
import { isoTimestamp, utcTimestamp } from '../../core/time.ts'
import { identifyKey } from '../../service/keys/authenticate-key.ts'
import { rollPresentedKey } from '../../service/keys/keys.ts'
import { apiKeyOf, KEY_HEADER } from '../server/credentials.ts'
import { authenticatedKey, callerOf } from '../server/keyed.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { isoTimeField, successField, timeField } from './schemas.ts'

export const rollKeyRoute = route({
  method: 'POST',
  path: '/api/roll-key',
  title: 'Roll a key',
  about:
    'Returns a new key in place of the one in the header. The old key keeps working until former_until, 24 hours from now; both share plan and counters. The new key is shown only here. A key can be rolled once in 24 hours: while the old key works, both get 409. Free, and possible even if the quota is exhausted.',
  input: Type.Object({}),
  output: Type.Object({
    status: successField,
    key: Type.String({ examples: ['45 characters, to be kept secret'] }),
    key_id: Type.String({ examples: ['key_1uQmB0cZ7yR5tVd9KfXw3e'] }),
    prefix: Type.String({
      description: 'The first characters of both keys.',
      examples: ['mf_live_4fKq'],
    }),
    former_until: timeField,
    former_until_iso: isoTimeField,
  }),
  requestHeaders: [KEY_HEADER],
  problems: ['invalid_key', 'already_rolled'],
  rate: 'rollKey',
  api: 'keyed',
  authenticate: async (deps, request) => await identifyKey(deps, callerOf(deps, request)),
  async handle(_input, deps, request) {
    const key = authenticatedKey(request)
    const presented = apiKeyOf(request.headers) ?? ''
    const { secret, oldUntil } = await rollPresentedKey(deps, key, presented)
    return success({
      key: secret,
      key_id: key.id,
      prefix: key.prefix,
      former_until: utcTimestamp(oldUntil),
      former_until_iso: isoTimestamp(oldUntil),
    })
  },
})
