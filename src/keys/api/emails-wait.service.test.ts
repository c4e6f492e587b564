import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest'
import { emailsOf, waitForLongPolls } from '../../../test/support/api-client.ts'
import { startApp, WITHOUT_POLLING } from '../../../test/support/app.ts'
import { problemFault, request } from '../../../test/support/http-client.ts'
import {
  type AppWithKeys,
  openKeyRing,
  startAppWithKeys,
  type TestKey,
} from '../../../test/support/keys.ts'
import { tempFolder } from '../../../test/support/stores.ts'

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
  assert.equal(await app.mail(to, `Subject: ${subject}\r\n\r\nx\r\n`), 250)
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
    assert.deepEqual(
      emailsOf(response).map(({ subject }) => subject),
      ['there'],
    )
    assert.equal(response.headers.get('x-timed-out'), null)
  })

  test('a wait with to returns on mail to that address only', async () => {
    const [to, other] = [newAddress(), newAddress()]
    const waiting = read(`wait=55&to=${to}`)
    await waitForLongPolls(1, app)
    await send(other, 'for another')
    await send(to, 'for this one')
    const response = await waiting
    assert.deepEqual(
      emailsOf(response).map(({ subject }) => subject),
      ['for this one'],
    )
    assert.equal(response.headers.get('x-timed-out'), null)
  })

  test('a wait with since_id returns on newer mail anywhere in the pool', async () => {
    await send(newAddress(), 'old')
    const waiting = read(`wait=55&since_id=${await newestId()}`)
    await waitForLongPolls(1, app)
    await send(newAddress(), 'new')
    assert.deepEqual(
      emailsOf(await waiting).map(({ subject }) => subject),
      ['new'],
    )
  })

  test('a wait returns on mail to a session of the key, with or without to', async () => {
    const { email } = await app.session({}, key.headers)
    const since = await newestId()
    const waiting = [read(`wait=55&to=${email}`), read(`wait=55&since_id=${since}`)]
    await waitForLongPolls(2, app)
    await send(email, 'own')
    for (const response of await Promise.all(waiting)) {
      assert.deepEqual(
        emailsOf(response).map(({ subject }) => subject),
        ['own'],
      )
    }
  })

  test('a wait includes sessions created with the key after it started', async () => {
    const waiting = read(`wait=55&since_id=${await newestId()}`)
    await waitForLongPolls(1, app)
    const { email } = await app.session({}, key.headers)
    await send(email, 'to a new one')
    assert.equal(emailsOf(await waiting)[0]?.subject, 'to a new one')
  })

  test('a wait without new mail returns an empty list and X-Timed-Out, and costs one request', async () => {
    const ownKey = await app.ring.issue()
    const response = await read(`wait=1&to=${newAddress()}`, ownKey.headers)
    assert.deepEqual([response.status, response.text], [200, '[{"emails":[]}]'])
    assert.equal(response.headers.get('x-timed-out'), '1')
    assert.ok(response.headers.get('etag'))
    assert.equal(response.headers.get('x-ratelimit-remaining'), '999')
    assert.equal(await app.ring.used(ownKey), 1)
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
      assert.equal((await request(`${app.url}${path}`, { method: 'POST', body })).status, 200)
      const response = await waiting
      assert.deepEqual([response.status, response.text], [200, '[{"emails":[]}]'])
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
    assert.equal((await waiting).status, 200)
    assert.equal(await app.ring.used(ownKey), 1)
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
    assert.equal(emailsOf(response).length, 2)
    assert.notEqual(response.headers.get('etag'), etag)
  })
})

describe('304', () => {
  test('a wait with If-None-Match ends in 304 if nothing changed, and costs nothing', async () => {
    const ownKey = await app.ring.issue()
    const to = newAddress()
    const etag = (await read(`to=${to}`, ownKey.headers)).headers.get('etag') ?? ''
    const response = await read(`wait=1&to=${to}`, { ...ownKey.headers, 'if-none-match': etag })
    assert.deepEqual([response.status, response.headers.get('etag')], [304, etag])
    assert.equal(response.headers.get('x-ratelimit-remaining'), '999')
    assert.equal(await app.ring.used(ownKey), 1)
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
    assert.equal(await app.ring.used(ownKey), 0)
  })

  test('the key is revoked: 401, even if mail arrives', async () => {
    const ownKey = await app.ring.issue()
    const to = newAddress()
    const waiting = read(`wait=55&to=${to}`, ownKey.headers)
    await waitForLongPolls(1, app)
    await app.ring.shop.revokeKey(ownKey.id)
    await send(to, 'not for him')
    const response = await waiting
    assert.deepEqual([response.status, response.body['code']], [401, 'invalid_key'])
    assert.equal(await app.ring.used(ownKey), 0)
  })

  test('the key is revoked: 401, even if nothing changed', async () => {
    const ownKey = await app.ring.issue()
    const headers = { ...ownKey.headers, 'if-none-match': '*' }
    const waiting = read(`wait=1&to=${newAddress()}`, headers)
    await waitForLongPolls(1, app)
    await app.ring.shop.revokeKey(ownKey.id)
    assert.equal((await waiting).status, 401)
  })

  test('another request uses up the quota: 402', async () => {
    const ownKey = await app.ring.issue({ requests: 1 })
    const to = newAddress()
    const waiting = read(`wait=55&to=${to}`, ownKey.headers)
    await waitForLongPolls(1, app)
    assert.equal((await read('limit=1', ownKey.headers)).status, 200)
    await send(to, 'not for him')
    const response = await waiting
    assert.deepEqual([response.status, response.body['code']], [402, 'quota_exhausted'])
    assert.equal(response.headers.get('x-ratelimit-remaining'), '0')
    assert.equal(await app.ring.used(ownKey), 1)
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
    assert.deepEqual([response.status, response.body['code']], [402, 'plan_expired'])
    assert.equal(await pollingApp.ring.used(ownKey), 0)
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
    assert.deepEqual([response.status, response.body['code']], [503, 'shutting_down'])
    assert.equal(problemFault(response), undefined)
    assert.equal(await keys.used(ownKey), 0)
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
    assert.deepEqual([first.status, first.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(first), undefined)
    const otherWait = read(`wait=55&to=${to}`, other.headers)
    await waitForLongPolls(101, app)
    await send(to, 'for all')
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 100)
    assert.equal((await otherWait).status, 200)
    assert.equal(await app.ring.used(ownKey), 100)
  })
})
