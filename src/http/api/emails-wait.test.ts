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

let names = 0
const newAddress = () => {
  names += 1
  return `name${names}@pool.test`
}
const newestId = async () => emailsOf(await read('limit=1'))[0]?.id ?? 0

describe('200', () => {
  test('at once when there is mail already', async () => {
    const to = newAddress()
    await send(to, 'there')
    const asked = await read(`wait=55&to=${to}`)
    assert.deepEqual(
      emailsOf(asked).map(({ subject }) => subject),
      ['there'],
    )
    assert.equal(asked.headers.get('x-timed-out'), null)
  })

  test('as soon as some comes for the address, and not for another’s', async () => {
    const [to, other] = [newAddress(), newAddress()]
    const waiting = read(`wait=55&to=${to}`)
    await waitForLongPolls(1, app)
    await send(other, 'for another')
    await send(to, 'for this one')
    const asked = await waiting
    assert.deepEqual(
      emailsOf(asked).map(({ subject }) => subject),
      ['for this one'],
    )
    assert.equal(asked.headers.get('x-timed-out'), null)
  })

  test('as soon as some newer than since_id comes, anywhere in the pool', async () => {
    await send(newAddress(), 'old')
    const waiting = read(`wait=55&since_id=${await newestId()}`)
    await waitForLongPolls(1, app)
    await send(newAddress(), 'new')
    assert.deepEqual(
      emailsOf(await waiting).map(({ subject }) => subject),
      ['new'],
    )
  })

  test('as soon as some comes to a session of the key, by its address or without one', async () => {
    const { email } = await app.session({}, key.headers)
    const since = await newestId()
    const waiting = [read(`wait=55&to=${email}`), read(`wait=55&since_id=${since}`)]
    await waitForLongPolls(2, app)
    await send(email, 'own')
    for (const asked of await Promise.all(waiting)) {
      assert.deepEqual(
        emailsOf(asked).map(({ subject }) => subject),
        ['own'],
      )
    }
  })

  test('a session that is made with the key meanwhile is seen too', async () => {
    const waiting = read(`wait=55&since_id=${await newestId()}`)
    await waitForLongPolls(1, app)
    const { email } = await app.session({}, key.headers)
    await send(email, 'to a new one')
    assert.equal(emailsOf(await waiting)[0]?.subject, 'to a new one')
  })

  test('with an empty list and X-Timed-Out when none comes, for one request', async () => {
    const mine = await app.ring.issue()
    const asked = await read(`wait=1&to=${newAddress()}`, mine.headers)
    assert.deepEqual([asked.status, asked.text], [200, '[{"emails":[]}]'])
    assert.equal(asked.headers.get('x-timed-out'), '1')
    assert.ok(asked.headers.get('etag'))
    assert.equal(asked.headers.get('x-ratelimit-remaining'), '999')
    assert.equal(await app.ring.used(mine), 1)
  })

  for (const [name, path, more] of [
    ['a mail of the key’s session is deleted', '/api/delete-mail', 'id'],
    ['a session of the key is ended', '/api/delete-session', ''],
  ] as const) {
    test(`with If-None-Match as soon as ${name}`, async () => {
      const { email, token } = await app.session({}, key.headers)
      await send(email, 'soon gone')
      const before = await read(`to=${email}`)
      const known = { ...key.headers, 'if-none-match': before.headers.get('etag') ?? '' }
      const waiting = read(`wait=55&to=${email}`, known)
      await waitForLongPolls(1, app)
      const body = new URLSearchParams({ token, [more]: String(emailsOf(before)[0]?.id) })
      assert.equal((await request(`${app.url}${path}`, { method: 'POST', body })).status, 200)
      const asked = await waiting
      assert.deepEqual([asked.status, asked.text], [200, '[{"emails":[]}]'])
    })
  }

  test('a wait costs one request, however often it was woken', async () => {
    const mine = await app.ring.issue()
    const since = await newestId()
    const own = await app.session({}, mine.headers)
    const waiting = read(`wait=55&to=${own.email}&since_id=${since}`, mine.headers)
    await waitForLongPolls(1, app)
    const second = await app.session({}, mine.headers)
    await send(second.email, 'wakes, but is not what is waited for')
    await send(own.email, 'is')
    assert.equal((await waiting).status, 200)
    assert.equal(await app.ring.used(mine), 1)
  })

  test('with If-None-Match: when what is seen is no longer as it was', async () => {
    const to = newAddress()
    await send(to, 'first')
    const etag = (await read(`to=${to}`)).headers.get('etag') ?? ''
    const headers = { ...key.headers, 'if-none-match': etag }
    const waiting = read(`wait=55&to=${to}`, headers)
    await waitForLongPolls(1, app)
    await send(to, 'second')
    const asked = await waiting
    assert.equal(emailsOf(asked).length, 2)
    assert.notEqual(asked.headers.get('etag'), etag)
  })
})

describe('304', () => {
  test('at the end of a wait during which nothing changed, for nothing', async () => {
    const mine = await app.ring.issue()
    const to = newAddress()
    const etag = (await read(`to=${to}`, mine.headers)).headers.get('etag') ?? ''
    const asked = await read(`wait=1&to=${to}`, { ...mine.headers, 'if-none-match': etag })
    assert.deepEqual([asked.status, asked.headers.get('etag')], [304, etag])
    assert.equal(asked.headers.get('x-ratelimit-remaining'), '999')
    assert.equal(await app.ring.used(mine), 1)
  })
})

describe('nobody is charged', () => {
  test('who hangs up while he waits', async () => {
    const mine = await app.ring.issue()
    const to = newAddress()
    const socket = connect(app.httpPort, '127.0.0.1')
    socket.write(
      `GET /emails?wait=55&to=${to} HTTP/1.1\r\nHost: x\r\nAPIKey: ${mine.secret}\r\n\r\n`,
    )
    await waitForLongPolls(1, app)
    socket.destroy()
    await waitForLongPolls(0, app)
    await send(to, 'too late')
    assert.equal(await app.ring.used(mine), 0)
  })

  test('whose key is revoked while he waits: 401, also when mail comes', async () => {
    const mine = await app.ring.issue()
    const to = newAddress()
    const waiting = read(`wait=55&to=${to}`, mine.headers)
    await waitForLongPolls(1, app)
    await app.ring.shop.revokeKey(mine.id)
    await send(to, 'not for him')
    const asked = await waiting
    assert.deepEqual([asked.status, asked.body['code']], [401, 'invalid_key'])
    assert.equal(await app.ring.used(mine), 0)
  })

  test('whose key is revoked while he waits: 401, also when nothing changed', async () => {
    const mine = await app.ring.issue()
    const headers = { ...mine.headers, 'if-none-match': '*' }
    const waiting = read(`wait=1&to=${newAddress()}`, headers)
    await waitForLongPolls(1, app)
    await app.ring.shop.revokeKey(mine.id)
    assert.equal((await waiting).status, 401)
  })

  test('whose last request somebody else takes while he waits: 402', async () => {
    const mine = await app.ring.issue({ requests: 1 })
    const to = newAddress()
    const waiting = read(`wait=55&to=${to}`, mine.headers)
    await waitForLongPolls(1, app)
    assert.equal((await read('limit=1', mine.headers)).status, 200)
    await send(to, 'not for him')
    const asked = await waiting
    assert.deepEqual([asked.status, asked.body['code']], [402, 'quota_exhausted'])
    assert.equal(asked.headers.get('x-ratelimit-remaining'), '0')
    assert.equal(await app.ring.used(mine), 1)
  })

  test('whose plan ends while he waits: 402', async () => {
    // Of the passing of time no bus tells: here it takes a look.
    const watchful = await startAppWithKeys({ intervals: { ...WITHOUT_POLLING, pollMs: 50 } })
    onTestFinished(() => watchful.stop())
    const mine = await watchful.ring.issue({ months: 1 })
    const waiting = read(`wait=55&to=${newAddress()}`, mine.headers, watchful)
    await waitForLongPolls(1, watchful)
    watchful.moveClock(31 * 86_400)
    const asked = await waiting
    assert.deepEqual([asked.status, asked.body['code']], [402, 'plan_expired'])
    assert.equal(await watchful.ring.used(mine), 0)
  })

  test('whom we send home because we stop: 503', async () => {
    const folder = tempFolder()
    const stopping = await startApp({ folder: { path: folder.path, remove: () => {} } })
    const keys = await openKeyRing(stopping)
    const mine = await keys.issue()
    const waiting = read(`wait=55&to=${newAddress()}`, mine.headers, stopping)
    await waitForLongPolls(1, stopping)
    await stopping.stop()
    const asked = await waiting
    assert.deepEqual([asked.status, asked.body['code']], [503, 'shutting_down'])
    assert.equal(problemFault(asked), undefined)
    assert.equal(await keys.used(mine), 0)
    await keys.close()
    folder.remove()
  })
})

describe('503', () => {
  test('more than a hundred waits with one key, and other keys are unaffected', async () => {
    const [mine, other] = [await app.ring.issue(), await app.ring.issue()]
    const to = newAddress()
    const waiting = Array.from({ length: 101 }, () => read(`wait=55&to=${to}`, mine.headers))
    const first = await Promise.race(waiting)
    assert.deepEqual([first.status, first.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(first), undefined)
    const theirs = read(`wait=55&to=${to}`, other.headers)
    await waitForLongPolls(101, app)
    await send(to, 'for all')
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 100)
    assert.equal((await theirs).status, 200)
    assert.equal(await app.ring.used(mine), 100)
  })
})
