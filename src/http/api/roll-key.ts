import { Type } from 'typebox'
import { isoStamp, stamp } from '../../core/time.ts'
import { presentedKey } from '../../service/keys/authenticate-key.ts'
import { rollPresentedKey } from '../../service/keys/keys.ts'
import { KEY_FIELD, keyOf } from '../server/credentials.ts'
import { admittedKey, readerOf } from '../server/keyed.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { isoField, stampField, successField } from './schemas.ts'

export const rollKeyRoute = route({
  method: 'POST',
  path: '/api/roll-key',
  title: 'Roll a key',
  about:
    'Returns a new key in place of the one in the header. The old key keeps working until former_until, 24 hours from now; both share plan and counters. The new key is shown only here. A key can be rolled once in 24 hours: while the former key works, both get 409. Free, and possible also when the key is used up.',
  input: Type.Object({}),
  output: Type.Object({
    status: successField,
    key: Type.String({ examples: ['45 characters, to be kept secret'] }),
    key_id: Type.String({ examples: ['key_1uQmB0cZ7yR5tVd9KfXw3e'] }),
    prefix: Type.String({ description: 'How both keys begin.', examples: ['mf_live_4fKq'] }),
    former_until: stampField,
    former_until_iso: isoField,
  }),
  requestHeaders: [KEY_FIELD],
  refusals: ['invalid_key', 'already_rolled'],
  rate: 'rollKey',
  reader: true,
  authenticate: async (deps, call) => await presentedKey(deps, readerOf(deps, call)),
  async handle(_input, deps, call) {
    const key = admittedKey(call)
    const presented = keyOf(call.headers) ?? ''
    const { secret, formerUntil } = await rollPresentedKey(deps, key, presented)
    return success({
      key: secret,
      key_id: key.id,
      prefix: key.prefix,
      former_until: stamp(formerUntil),
      former_until_iso: isoStamp(formerUntil),
    })
  },
})
