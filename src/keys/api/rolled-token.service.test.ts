import { afterAll, beforeAll, expect, test } from 'vitest'
import { WAIT_FOR_EXTRACTION } from '../../../test/kit/app/app.ts'
import { checkMail } from '../../../test/kit/http/api-client.ts'
import { post, request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { keyRing } from '../../../test/kit/shop/keys.ts'
import { EMPTY_MAIL } from '../../shared/mail.ts'

// A request that found its session by a token which is then replaced: its write must not happen. The store is the real one;
// the write is held until the token has been replaced.

let server: TestServer
let headers: Record<string, string>
let heldCall = ''
let held = Promise.withResolvers<void>()
let release = Promise.withResolvers<void>()

function withHold<Store extends object>(store: Store): Store {
  const wrapped = Object.entries(store).map(([name, call]) => {
    const waiting = async (...args: unknown[]) => {
      if (name === heldCall) {
        heldCall = ''
        held.resolve()
        await release.promise
      }
      return await call(...args)
    }
    return [name, typeof call === 'function' ? waiting : call]
  })
  return Object.fromEntries(wrapped) as Store
}

beforeAll(async () => {
  const parse = async () => EMPTY_MAIL
  server = await openTestServer({ ...WAIT_FOR_EXTRACTION, wrapStore: withHold, parse })
  headers = (await keyRing(server.shop, server.now).issue()).headers
})
afterAll(() => server.stop())

for (const [call, path, params] of [
  ['endSession', 'delete-session', {}],
  ['updateSession', 'update-session', { label: 'theirs' }],
  ['extendSession', 'extend-session', { ttl: '600' }],
  ['deleteMessages', 'delete-mail', { ids: '' }],
  ['deleteMessages', 'delete-mail', { id: '' }],
  ['deleteMessages', 'delete-mail', { all: '1', up_to_id: '' }],
] as const) {
  const names = Object.keys(params).join()
  test(`${path} ${names} with a token that is replaced before its write: 401, and nothing has changed`, async () => {
    const created = await post(`${server.url}/api/create-session`, {}, 'form', headers)
    const { email = '', token = '' } = created.body as Record<string, string>
    await server.mail(email)
    const [message] = await checkMail(server.url, token)
    const given = Object.entries(params).map(([name, value]) => [name, value || message?.id])
    held = Promise.withResolvers()
    release = Promise.withResolvers()
    heldCall = call
    const url = `${server.url}/api/${path}`
    const writing = post(url, { token, ...Object.fromEntries(given) }, 'form')
    await held.promise
    const rolled = await post(`${server.url}/sessions/roll-token`, { email }, 'form', headers)
    const current = String(rolled.body['token'])
    const state = async () => (await request(`${server.url}/api/check-mail?token=${current}`)).body
    const before = await state()
    expect(before).toMatchObject({ email, messages: [{ id: message?.id }] })
    release.resolve()
    const response = await writing
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
    expect(await state()).toStrictEqual(before)
  })
}

for (const conditions of ['', '&from=example', '&q=arrived']) {
  test(`check-mail ${conditions} with a token that is replaced before a mail arrives: 401`, async () => {
    const created = await post(`${server.url}/api/create-session`, {}, 'form', headers)
    const { email = '', token = '' } = created.body as Record<string, string>
    held = Promise.withResolvers()
    release = Promise.withResolvers()
    heldCall = 'listMessages'
    const reading = request(`${server.url}/api/check-mail?token=${token}${conditions}`)
    await held.promise
    await post(`${server.url}/sessions/roll-token`, { email }, 'form', headers)
    await server.mail(email)
    release.resolve()
    const response = await reading
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
  })
}
