import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest'
import { waitForLongPolls } from '../../../test/support/api-client.ts'
import {
  type App,
  startApp,
  WAIT_FOR_EXTRACTION,
  WITHOUT_POLLING,
} from '../../../test/support/app.ts'
import { post, problemFault, request } from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import { Problem } from '../../core/problem.ts'
import { heldReader, IMPATIENT, PATIENT } from '../../service/testing/codes.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ ...WAIT_FOR_EXTRACTION, intervals: WITHOUT_POLLING })
})
afterAll(() => app.stop())

const check = (token: string, more = '', headers: Record<string, string> = {}) =>
  request(`${app.url}/api/check-mail?token=${token}${more}`, { headers })
const ids = (body: Record<string, unknown>) =>
  (body['messages'] as { id: number }[]).map(({ id }) => id)

/** A session with one message. */
async function filled() {
  const session = await app.session()
  await app.mail(session.email)
  return { ...session, ids: ids((await check(session.token)).body) }
}

describe('200', () => {
  test('at once when there is mail already', async () => {
    const { token, ids: all } = await filled()
    const { body } = await check(token, '&wait=55')
    assert.deepEqual(ids(body), all)
    assert.equal('timed_out' in body, false)
  })

  test('as soon as one newer than since_id comes', async () => {
    const { email, token, ids: all } = await filled()
    const waiting = check(token, `&wait=55&since_id=${all[0]}`)
    await waitForLongPolls(1, app)
    await app.mail(email)
    const { body } = await waiting
    assert.equal(ids(body).length, 1)
    assert.notDeepEqual(ids(body), all)
  })

  test('many who wait are all told', async () => {
    const { email, token } = await app.session()
    const waiting = Array.from({ length: 20 }, () => check(token, '&wait=55'))
    await waitForLongPolls(20, app)
    await app.mail(email)
    for (const { body } of await Promise.all(waiting)) assert.equal(ids(body).length, 1)
  })

  test('with an empty list and timed_out when none comes', async () => {
    const { token } = await app.session()
    const { status, body, headers } = await check(token, '&wait=1')
    assert.equal(status, 200)
    assert.deepEqual(body['messages'], [])
    assert.equal(body['timed_out'], true)
    assert.equal(headers.get('etag'), null, 'it does not tell what the mailbox holds')
  })

  test('with If-None-Match: when the mailbox is no longer as it was, also by a deletion', async () => {
    const { token, ids: all } = await filled()
    const etag = (await check(token)).headers.get('etag') ?? ''
    const waiting = check(token, '&wait=55', { 'if-none-match': etag })
    await waitForLongPolls(1, app)
    await post(`${app.url}/api/delete-mail`, { token, id: String(all[0]) })
    const { status, body } = await waiting
    assert.equal(status, 200)
    assert.deepEqual(body['messages'], [])
    assert.equal('timed_out' in body, false)
  })

  test('with If-None-Match: when the session lives longer than it did', async () => {
    const { token } = await app.session({ ttl: '60' })
    const before = await check(token)
    const waiting = check(token, '&wait=55', { 'if-none-match': before.headers.get('etag') ?? '' })
    await waitForLongPolls(1, app)
    await post(`${app.url}/api/extend-session`, { token, ttl: '600' })
    const { status, body } = await waiting
    assert.equal(status, 200)
    assert.notEqual(body['expires_at'], before.body['expires_at'])
  })

  test('a client that hangs up leaves nothing behind', async () => {
    const { token, email } = await app.session()
    const socket = connect(app.httpPort, '127.0.0.1')
    socket.write(`GET /api/check-mail?wait=55&token=${token} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await waitForLongPolls(1, app)
    socket.destroy()
    await waitForLongPolls(0, app)
    assert.equal(await app.mail(email), 250)
  })
})

describe('304', () => {
  test('at the end of a wait during which nothing changed', async () => {
    const { token } = await filled()
    const etag = (await check(token)).headers.get('etag') ?? ''
    assert.equal((await check(token, '&wait=1', { 'if-none-match': etag })).status, 304)
  })
})

describe('401', () => {
  test('a session that ends while somebody waits', async () => {
    const { token } = await app.session()
    const waiting = check(token, '&wait=55')
    await waitForLongPolls(1, app)
    await post(`${app.url}/api/delete-session`, { token })
    const asked = await waiting
    assert.deepEqual([asked.status, asked.body['code']], [401, 'invalid_token'])
  })

  test('a session that expires while somebody waits', async () => {
    // Of the passing of time no bus tells: here it takes a look.
    const watchful = await startApp({ intervals: { ...WITHOUT_POLLING, pollMs: 50 } })
    const { token } = await watchful.session({ ttl: '60' })
    const waiting = request(`${watchful.url}/api/check-mail?token=${token}&wait=55`)
    await waitForLongPolls(1, watchful)
    watchful.moveClock(60)
    const asked = await waiting
    await watchful.stop()
    assert.deepEqual([asked.status, asked.body['code']], [401, 'session_expired'])
  })
})

describe('503', () => {
  test('more than a hundred waits on one mailbox', async () => {
    const { email, token } = await app.session()
    const waiting = Array.from({ length: 101 }, () => check(token, '&wait=55'))
    const first = await Promise.race(waiting)
    assert.deepEqual([first.status, first.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(first), undefined)
    await app.mail(email)
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 100)
  })
})

/** A server with a session; the options control how its mail is parsed. */
async function opened(options: Parameters<typeof openTestServer>[0]) {
  const server = await openTestServer(options)
  onTestFinished(() => server.stop())
  const made = await post(`${server.url}/api/create-session`, {})
  const { email, token } = made.body as { email: string; token: string }
  return {
    send: (body: string) => server.mail(email, `Subject: s\r\n\r\n${body}`),
    check: (more = '', headers: Record<string, string> = {}) =>
      request(`${server.url}/api/check-mail?token=${token}${more}`, { headers }),
  }
}

type Asked = Awaited<ReturnType<typeof request>>
const codesIn = ({ body }: Asked) =>
  (body['messages'] as { code: string | null }[]).map(({ code }) => code)
const tagOf = ({ headers }: Asked) => headers.get('etag') ?? ''

describe('200', () => {
  test('the first list has the codes that are found while it waits a little', async () => {
    const { send, check } = await opened({ parse: heldReader().parse, patienceMs: PATIENT })
    await send('111111')
    await send('')
    assert.deepEqual(codesIn(await check()), [null, '111111'])
  })

  test('its tag and what is kept of it are of the list with the codes', async () => {
    const { send, check } = await opened({ parse: heldReader().parse, patienceMs: PATIENT })
    await send('111111')
    const first = await check()
    assert.equal((await check('', { 'if-none-match': tagOf(first) })).status, 304)
    assert.equal(tagOf(await check()), tagOf(first))
  })

  test('a code that takes longer changes the tag and is in the next list', async () => {
    const reader = heldReader()
    const { send, check } = await opened({ parse: reader.parse, patienceMs: IMPATIENT })
    await send('111111')
    reader.hold()
    const first = await check()
    assert.deepEqual(codesIn(first), [null])
    assert.deepEqual(codesIn(await check()), [null], 'kept, and nobody waits again')
    const waiting = check('&wait=55', { 'if-none-match': tagOf(first) })
    reader.release()
    const later = await waiting
    assert.deepEqual([later.status, codesIn(later)], [200, ['111111']])
    assert.notEqual(tagOf(later), tagOf(first))
    assert.deepEqual(codesIn(await check()), ['111111'])
    assert.deepEqual(reader.read, ['111111'])
  })

  test('one that is found during a wait in vain is hidden behind no 304', async () => {
    const reader = heldReader()
    const { send, check } = await opened({ parse: reader.parse, patienceMs: IMPATIENT })
    await send('111111')
    reader.hold()
    const first = await check()
    const waiting = check('&wait=1&since_id=9007199254740991')
    reader.release()
    const inVain = await waiting
    assert.equal(inVain.body['timed_out'], true)
    const tag = tagOf(inVain) || tagOf(first)
    assert.deepEqual(codesIn(await check('&wait=5', { 'if-none-match': tag })), ['111111'])
  })

  test('a wait is answered with the code of the mail that ended it', async () => {
    const { send, check } = await opened({ parse: heldReader().parse, patienceMs: PATIENT })
    const waiting = check('&wait=55')
    await send('111111')
    assert.deepEqual(codesIn(await waiting), ['111111'])
  })

  test('mail that comes while a list waits for codes is in that list, and looked at', async () => {
    const reader = heldReader()
    const { send, check } = await opened({ parse: reader.parse, patienceMs: PATIENT })
    await send('111111')
    reader.hold()
    const first = check()
    while (reader.read.length === 0) await new Promise(setImmediate)
    await send('222222')
    reader.release()
    const listed = await first
    assert.equal(codesIn(listed).length, 2)
    const next = await check('&wait=55', { 'if-none-match': tagOf(listed) })
    assert.deepEqual(codesIn(next), ['222222', '111111'])
  })

  for (const [name, fault] of [
    ['fails', new Error('the child died')],
    ['has no room', new Problem('overloaded', 'x', 1)],
  ] as const) {
    test(`a reader that ${name} breaks no list`, async () => {
      const parse = () => Promise.reject(fault)
      const { send, check } = await opened({ parse, patienceMs: IMPATIENT })
      await send('111111')
      const asked = await check()
      assert.deepEqual([asked.status, codesIn(asked)], [200, [null]])
    })
  }
})

describe('304', () => {
  test('to a tag that is older than any look, and has the mail looked at', async () => {
    const { send, check } = await opened({ parse: heldReader().parse, patienceMs: PATIENT })
    await send('111111')
    const untold = await check('&since_id=9007199254740991')
    const tag = { 'if-none-match': tagOf(untold) }
    const unchanged = await check('', tag)
    assert.equal(unchanged.status, 304)
    assert.deepEqual(codesIn(await check('&wait=55', tag)), ['111111'])
  })
})
