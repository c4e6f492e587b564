import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startApp, WITHOUT_POLLING } from '../../../test/kit/app/app.ts'
import { emailsOf, waitForLongPolls } from '../../../test/kit/http/api-client.ts'
import { post, problemFault, request } from '../../../test/kit/http/http-client.ts'
import {
  type AppWithKeys,
  openKeyRing,
  startAppWithKeys,
  type TestKey,
} from '../../../test/kit/shop/keys.ts'
import { tempFolder } from '../../../test/kit/store/stores.ts'

let app: AppWithKeys
let key: TestKey
beforeAll(async () => {
  app = await startAppWithKeys({ intervals: WITHOUT_POLLING })
  key = await app.ring.issue({ requests: 10_000 })
})
afterAll(() => app.stop())

const read = (query: string, headers = key.headers, { url }: Pick<AppWithKeys, 'url'> = app) =>
  request(`${url}/emails?${query}`, { headers })
const send = async (to: string, subject: string) => {
  expect(await app.mail(to, `Subject: ${subject}\r\n\r\nx\r\n`)).toBe(250)
}

let nameCount = 0
const newAddress = () => {
  nameCount += 1
  return `name${nameCount}@pool.test`
}
const newestId = async () => emailsOf(await read('limit=1'))[0]?.id ?? 0

describe('200', () => {
  test('a wait returns at once if there is mail', async () => {
    const to = newAddress()
    await send(to, 'there')
    const response = await read(`wait=55&to=${to}`)
    expect(emailsOf(response).map(({ subject }) => subject)).toStrictEqual(['there'])
    expect(response.headers.get('x-timed-out')).toBe(null)
  })

  test('a wait with to returns on mail to that address only', async () => {
    const [to, other] = [newAddress(), newAddress()]
    const waiting = read(`wait=55&to=${to}`)
    await waitForLongPolls(1, app)
    await send(other, 'for another')
    await send(to, 'for this one')
    const response = await waiting
    expect(emailsOf(response).map(({ subject }) => subject)).toStrictEqual(['for this one'])
    expect(response.headers.get('x-timed-out')).toBe(null)
  })

  test('a wait with since_id returns on newer mail anywhere in the pool', async () => {
    await send(newAddress(), 'old')
    const waiting = read(`wait=55&since_id=${await newestId()}`)
    await waitForLongPolls(1, app)
    await send(newAddress(), 'new')
    expect(emailsOf(await waiting).map(({ subject }) => subject)).toStrictEqual(['new'])
  })

  test('a wait returns on mail to a session of the key, with or without to', async () => {
    const { email } = await app.session({}, key.headers)
    const since = await newestId()
    const waiting = [read(`wait=55&to=${email}`), read(`wait=55&since_id=${since}`)]
    await waitForLongPolls(2, app)
    await send(email, 'own')
    for (const response of await Promise.all(waiting)) {
      expect(emailsOf(response).map(({ subject }) => subject)).toStrictEqual(['own'])
    }
  })

  test('a wait with to ends with the session of the address', async () => {
    const { email, token } = await app.session({}, key.headers)
    const waiting = [read(`wait=55&to=${email}`), read(`wait=55&to=${email}&from=a.test`)]
    await waitForLongPolls(2, app)
    await post(`${app.url}/api/delete-session`, { token })
    for (const response of await Promise.all(waiting)) {
      expect(emailsOf(response)).toStrictEqual([])
      expect(response.headers.get('x-timed-out')).toBe(null)
    }
  })

  test('a wait includes sessions created with the key after it started', async () => {
    const waiting = read(`wait=55&since_id=${await newestId()}`)
    await waitForLongPolls(1, app)
    const { email } = await app.session({}, key.headers)
    await send(email, 'to a new one')
    expect(emailsOf(await waiting)[0]?.subject).toBe('to a new one')
  })

  test('a wait without new mail returns an empty list and X-Timed-Out, and costs one request', async () => {
    const ownKey = await app.ring.issue()
    const address = newAddress()
    const response = await read(`wait=1&to=${address}`, ownKey.headers)
    expect(response.status).toBe(200)
    expect(response.text).toBe(`[{"address":"${address}","emails":[]}]`)
    expect(response.headers.get('x-timed-out')).toBe('1')
    expect(response.headers.get('etag')).toBeTruthy()
    expect(response.headers.get('x-ratelimit-remaining')).toBe('999')
    expect(await app.ring.used(ownKey)).toBe(1)
  })

  for (const [name, path, more] of [
    ['a mail of the key’s session is deleted', '/api/delete-mail', 'id'],
    ['a session of the key is deleted', '/api/delete-session', ''],
  ] as const) {
    test(`a wait with If-None-Match returns when ${name}`, async () => {
      const { email, token } = await app.session({}, key.headers)
      await send(email, 'soon gone')
      const before = await read(`to=${email}`)
      const known = { ...key.headers, 'if-none-match': before.headers.get('etag') ?? '' }
      const waiting = read(`wait=55&to=${email}`, known)
      await waitForLongPolls(1, app)
      const body = new URLSearchParams({ token, [more]: String(emailsOf(before)[0]?.id) })
      expect((await request(`${app.url}${path}`, { method: 'POST', body })).status).toBe(200)
      const response = await waiting
      expect(response.status).toBe(200)
      expect(response.text).toBe(`[{"address":"${email}","emails":[]}]`)
    })
  }

  test('a wait costs one request, however often it is woken', async () => {
    const ownKey = await app.ring.issue()
    const since = await newestId()
    const own = await app.session({}, ownKey.headers)
    const waiting = read(`wait=55&to=${own.email}&since_id=${since}`, ownKey.headers)
    await waitForLongPolls(1, app)
    const second = await app.session({}, ownKey.headers)
    await send(second.email, 'wakes, but is not what is waited for')
    await send(own.email, 'is')
    expect((await waiting).status).toBe(200)
    expect(await app.ring.used(ownKey)).toBe(1)
  })

  test('a wait with If-None-Match returns when new mail changes the list', async () => {
    const to = newAddress()
    await send(to, 'first')
    const etag = (await read(`to=${to}`)).headers.get('etag') ?? ''
    const headers = { ...key.headers, 'if-none-match': etag }
    const waiting = read(`wait=55&to=${to}`, headers)
    await waitForLongPolls(1, app)
    await send(to, 'second')
    const response = await waiting
    expect(emailsOf(response).length).toBe(2)
    expect(response.headers.get('etag')).not.toBe(etag)
  })
})

describe('304', () => {
  test('a wait with If-None-Match ends in 304 if nothing changed, and costs nothing', async () => {
    const ownKey = await app.ring.issue()
    const to = newAddress()
    const etag = (await read(`to=${to}`, ownKey.headers)).headers.get('etag') ?? ''
    const response = await read(`wait=1&to=${to}`, { ...ownKey.headers, 'if-none-match': etag })
    expect([response.status, response.headers.get('etag')]).toStrictEqual([304, etag])
    expect(response.headers.get('x-ratelimit-remaining')).toBe('999')
    expect(await app.ring.used(ownKey)).toBe(1)
  })
})

describe('a wait is not charged if', () => {
  test('the client disconnects', async () => {
    const ownKey = await app.ring.issue()
    const to = newAddress()
    const socket = connect(app.httpPort, '127.0.0.1')
    socket.write(
      `GET /emails?wait=55&to=${to} HTTP/1.1\r\nHost: x\r\nAPIKey: ${ownKey.secret}\r\n\r\n`,
    )
    await waitForLongPolls(1, app)
    socket.destroy()
    await waitForLongPolls(0, app)
    await send(to, 'too late')
    expect(await app.ring.used(ownKey)).toBe(0)
  })

  test('the key is revoked: 401, even if mail arrives', async () => {
    const ownKey = await app.ring.issue()
    const to = newAddress()
    const waiting = read(`wait=55&to=${to}`, ownKey.headers)
    await waitForLongPolls(1, app)
    await app.ring.shop.revokeKey(ownKey.id)
    await send(to, 'not for him')
    const response = await waiting
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_key'])
    expect(await app.ring.used(ownKey)).toBe(0)
  })

  test('the key is revoked: 401, even if nothing changed', async () => {
    const ownKey = await app.ring.issue()
    const headers = { ...ownKey.headers, 'if-none-match': '*' }
    const waiting = read(`wait=1&to=${newAddress()}`, headers)
    await waitForLongPolls(1, app)
    await app.ring.shop.revokeKey(ownKey.id)
    expect((await waiting).status).toBe(401)
  })

  test('another request uses up the quota: 402', async () => {
    const ownKey = await app.ring.issue({ requests: 1 })
    const to = newAddress()
    const waiting = read(`wait=55&to=${to}`, ownKey.headers)
    await waitForLongPolls(1, app)
    expect((await read('limit=1', ownKey.headers)).status).toBe(200)
    await send(to, 'not for him')
    const response = await waiting
    expect([response.status, response.body['code']]).toStrictEqual([402, 'quota_exhausted'])
    expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(await app.ring.used(ownKey)).toBe(1)
  })

  test('the plan expires: 402', async () => {
    // The bus does not signal expiry: this app polls for it.
    const pollingApp = await startAppWithKeys({ intervals: { ...WITHOUT_POLLING, pollMs: 50 } })
    onTestFinished(() => pollingApp.stop())
    const ownKey = await pollingApp.ring.issue({ months: 1 })
    const waiting = read(`wait=55&to=${newAddress()}`, ownKey.headers, pollingApp)
    await waitForLongPolls(1, pollingApp)
    pollingApp.moveClock(31 * 86_400)
    const response = await waiting
    expect([response.status, response.body['code']]).toStrictEqual([402, 'plan_expired'])
    expect(await pollingApp.ring.used(ownKey)).toBe(0)
  })

  test('the server shuts down: 503', async () => {
    const folder = tempFolder()
    const stopping = await startApp({ folder: { path: folder.path, remove: () => {} } })
    const keys = await openKeyRing(stopping)
    const ownKey = await keys.issue()
    const waiting = read(`wait=55&to=${newAddress()}`, ownKey.headers, stopping)
    await waitForLongPolls(1, stopping)
    await stopping.stop()
    const response = await waiting
    expect([response.status, response.body['code']]).toStrictEqual([503, 'shutting_down'])
    expect(problemFault(response)).toBeUndefined()
    expect(await keys.used(ownKey)).toBe(0)
    await keys.close()
    folder.remove()
  })
})

describe('503', () => {
  test('a key has at most 100 waits, and other keys are unaffected', async () => {
    const [ownKey, other] = [await app.ring.issue(), await app.ring.issue()]
    const to = newAddress()
    const waiting = Array.from({ length: 101 }, () => read(`wait=55&to=${to}`, ownKey.headers))
    const first = await Promise.race(waiting)
    expect([first.status, first.body['code']]).toStrictEqual([503, 'overloaded'])
    expect(problemFault(first)).toBeUndefined()
    const otherWait = read(`wait=55&to=${to}`, other.headers)
    await waitForLongPolls(101, app)
    await send(to, 'for all')
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBe(100)
    expect((await otherWait).status).toBe(200)
    expect(await app.ring.used(ownKey)).toBe(100)
  })
})
