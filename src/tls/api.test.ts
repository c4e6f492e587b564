import { expect, test } from 'vitest'
import { acmeChallengeRoute } from './api.ts'

const CHALLENGES = new Map([
  ['the-token', 'the-token.of-http-01'],
  ['box.test', 'another-token.of-tls-alpn-01'],
])
const respond = (token: string) => {
  const deps = { acmeChallenge: async (name: string) => CHALLENGES.get(name) }
  return acmeChallengeRoute.handle({ token }, deps as never, undefined as never)
}

test('a token of http-01 is answered, a host name of tls-alpn-01 is not', async () => {
  expect(await respond('the-token')).toMatchObject({ status: 200, body: 'the-token.of-http-01' })
  for (const name of ['box.test', 'unknown', 'BOX.test'])
    await expect(respond(name)).rejects.toMatchObject({ code: 'not_found' })
})
