import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type App,
  startApp,
  WAIT_FOR_EXTRACTION,
  WITHOUT_POLLING,
} from '../../../test/kit/app/app.ts'
import { waitForLongPolls } from '../../../test/kit/http/api-client.ts'
import { post, problemFault, request } from '../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
import { Problem } from '../../base/problem.ts'
import { heldParser, NO_WAIT, WAIT_FOREVER } from '../testing/codes.ts'

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
async function sessionWithMail() {
  const session = await app.session()
  await app.mail(session.email)
  return { ...session, ids: ids((await check(session.token)).body) }
}

describe('200', () => {
  test('a wait returns at once if there is mail', async () => {
    const { token, ids: all } = await sessionWithMail()
    const { body } = await check(token, '&wait=55')
    expect(ids(body)).toStrictEqual(all)
    expect('timed_out' in body).toBe(false)
  })

  test('a wait returns when a message newer than since_id arrives', async () => {
    const { email, token, ids: all } = await sessionWithMail()
    const waiting = check(token, `&wait=55&since_id=${all[0]}`)
    await waitForLongPolls(1, app)
    await app.mail(email)
    const { body } = await waiting
    expect(ids(body).length).toBe(1)
    expect(ids(body)).not.toStrictEqual(all)
  })

  test('new mail ends every pending wait', async () => {
    const { email, token } = await app.session()
    const waiting = Array.from({ length: 20 }, () => check(token, '&wait=55'))
    await waitForLongPolls(20, app)
    await app.mail(email)
    for (const { body } of await Promise.all(waiting)) expect(ids(body).length).toBe(1)
  })

  test('a wait without new mail returns an empty list and timed_out', async () => {
    const { token } = await app.session()
    const { status, body, headers } = await check(token, '&wait=1')
    expect(status).toBe(200)
    expect(body['messages']).toStrictEqual([])
    expect(body['timed_out']).toBe(true)
    expect(headers.get('etag'), 'it does not tell what the mailbox holds').toBe(null)
  })

  test('a wait with If-None-Match returns when a message is deleted', async () => {
    const { token, ids: all } = await sessionWithMail()
    const etag = (await check(token)).headers.get('etag') ?? ''
    const waiting = check(token, '&wait=55', { 'if-none-match': etag })
    await waitForLongPolls(1, app)
    await post(`${app.url}/api/delete-mail`, { token, id: String(all[0]) })
    const { status, body } = await waiting
    expect(status).toBe(200)
    expect(body['messages']).toStrictEqual([])
    expect('timed_out' in body).toBe(false)
  })

  test('a wait with If-None-Match returns when the session is extended', async () => {
    const { token } = await app.session({ ttl: '60' })
    const before = await check(token)
    const waiting = check(token, '&wait=55', { 'if-none-match': before.headers.get('etag') ?? '' })
    await waitForLongPolls(1, app)
    await post(`${app.url}/api/extend-session`, { token, ttl: '600' })
    const { status, body } = await waiting
    expect(status).toBe(200)
    expect(body['expires_at']).not.toBe(before.body['expires_at'])
  })

  test('a disconnect ends the wait', async () => {
    const { token, email } = await app.session()
    const socket = connect(app.httpPort, '127.0.0.1')
    socket.write(`GET /api/check-mail?wait=55&token=${token} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await waitForLongPolls(1, app)
    socket.destroy()
    await waitForLongPolls(0, app)
    expect(await app.mail(email)).toBe(250)
  })
})

describe('304', () => {
  test('a wait with If-None-Match ends in 304 if nothing changed', async () => {
    const { token } = await sessionWithMail()
    const etag = (await check(token)).headers.get('etag') ?? ''
    expect((await check(token, '&wait=1', { 'if-none-match': etag })).status).toBe(304)
  })
})

describe('401', () => {
  test('deleting the session ends the wait', async () => {
    const { token } = await app.session()
    const waiting = check(token, '&wait=55')
    await waitForLongPolls(1, app)
    await post(`${app.url}/api/delete-session`, { token })
    const response = await waiting
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
  })

  test('expiry of the session ends the wait', async () => {
    // The bus does not signal expiry: this app polls for it.
    const pollingApp = await startApp({ intervals: { ...WITHOUT_POLLING, pollMs: 50 } })
    const { token } = await pollingApp.session({ ttl: '60' })
    const waiting = request(`${pollingApp.url}/api/check-mail?token=${token}&wait=55`)
    await waitForLongPolls(1, pollingApp)
    pollingApp.moveClock(60)
    const response = await waiting
    await pollingApp.stop()
    expect([response.status, response.body['code']]).toStrictEqual([401, 'session_expired'])
  })
})

describe('503', () => {
  test('a mailbox has at most 100 waits', async () => {
    const { email, token } = await app.session()
    const waiting = Array.from({ length: 101 }, () => check(token, '&wait=55'))
    const first = await Promise.race(waiting)
    expect([first.status, first.body['code']]).toStrictEqual([503, 'overloaded'])
    expect(problemFault(first)).toBeUndefined()
    await app.mail(email)
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBe(100)
  })
})

/** A server with a session; the options control how its mail is parsed. */
async function openSession(options: Parameters<typeof openTestServer>[0]) {
  const server = await openTestServer(options)
  onTestFinished(() => server.stop())
  const created = await post(`${server.url}/api/create-session`, {})
  const { email, token } = created.body as { email: string; token: string }
  return {
    send: (body: string) => server.mail(email, `Subject: s\r\n\r\n${body}`),
    check: (more = '', headers: Record<string, string> = {}) =>
      request(`${server.url}/api/check-mail?token=${token}${more}`, { headers }),
  }
}

type CheckResponse = Awaited<ReturnType<typeof request>>
const codesIn = ({ body }: CheckResponse) =>
  (body['messages'] as { code: string | null }[]).map(({ code }) => code)
const tagOf = ({ headers }: CheckResponse) => headers.get('etag') ?? ''

describe('200', () => {
  test('the first list waits briefly for codes and includes them', async () => {
    const { send, check } = await openSession({
      parse: heldParser().parse,
      resultWaitMs: WAIT_FOREVER,
    })
    await send('111111')
    await send('')
    expect(codesIn(await check())).toStrictEqual([null, '111111'])
  })

  test('the ETag and the cached response are those of the list with codes', async () => {
    const { send, check } = await openSession({
      parse: heldParser().parse,
      resultWaitMs: WAIT_FOREVER,
    })
    await send('111111')
    const first = await check()
    expect((await check('', { 'if-none-match': tagOf(first) })).status).toBe(304)
    expect(tagOf(await check())).toBe(tagOf(first))
  })

  test('a preview made later changes the ETag once, also without a code', async () => {
    const parser = heldParser()
    const { send, check } = await openSession({ parse: parser.parse, resultWaitMs: NO_WAIT })
    await send('')
    parser.hold()
    const first = await check()
    const previews = ({ body }: CheckResponse) =>
      (body['messages'] as { preview: string | null }[]).map(({ preview }) => preview)
    expect(previews(first)).toStrictEqual([null])
    const waiting = check('&wait=55', { 'if-none-match': tagOf(first) })
    parser.release()
    const later = await waiting
    expect([later.status, previews(later)]).toStrictEqual([200, ['']])
    expect(tagOf(later)).not.toBe(tagOf(first))
    expect((await check('', { 'if-none-match': tagOf(later) })).status).toBe(304)
  })

  test('a code found later changes the ETag and is in the next list', async () => {
    const parser = heldParser()
    const { send, check } = await openSession({ parse: parser.parse, resultWaitMs: NO_WAIT })
    await send('111111')
    parser.hold()
    const first = await check()
    expect(codesIn(first)).toStrictEqual([null])
    expect(codesIn(await check()), 'kept, and nobody waits again').toStrictEqual([null])
    const waiting = check('&wait=55', { 'if-none-match': tagOf(first) })
    parser.release()
    const later = await waiting
    expect([later.status, codesIn(later)]).toStrictEqual([200, ['111111']])
    expect(tagOf(later)).not.toBe(tagOf(first))
    expect(codesIn(await check())).toStrictEqual(['111111'])
    expect(parser.read).toStrictEqual(['111111'])
  })

  test('a code found during a wait that timed out is not hidden by a 304', async () => {
    const parser = heldParser()
    const { send, check } = await openSession({ parse: parser.parse, resultWaitMs: NO_WAIT })
    await send('111111')
    parser.hold()
    const first = await check()
    const waiting = check('&wait=1&since_id=9007199254740991')
    parser.release()
    const timedOut = await waiting
    expect(timedOut.body['timed_out']).toBe(true)
    const tag = tagOf(timedOut) || tagOf(first)
    expect(codesIn(await check('&wait=5', { 'if-none-match': tag }))).toStrictEqual(['111111'])
  })

  test('a wait returns the code of the mail that ended it', async () => {
    const { send, check } = await openSession({
      parse: heldParser().parse,
      resultWaitMs: WAIT_FOREVER,
    })
    const waiting = check('&wait=55')
    await send('111111')
    expect(codesIn(await waiting)).toStrictEqual(['111111'])
  })

  test('mail that arrives while a list waits for codes is in that list, and is parsed', async () => {
    const parser = heldParser()
    const { send, check } = await openSession({ parse: parser.parse, resultWaitMs: WAIT_FOREVER })
    await send('111111')
    parser.hold()
    const first = check()
    while (parser.read.length === 0) await new Promise(setImmediate)
    await send('222222')
    parser.release()
    const listed = await first
    expect(codesIn(listed).length).toBe(2)
    const next = await check('&wait=55', { 'if-none-match': tagOf(listed) })
    expect(codesIn(next)).toStrictEqual(['222222', '111111'])
  })

  for (const [name, fault] of [
    ['fails', new Error('the child died')],
    ['is overloaded', new Problem('overloaded', 'x', 1)],
  ] as const) {
    test(`the list is returned if the parser ${name}`, async () => {
      const parse = () => Promise.reject(fault)
      const { send, check } = await openSession({ parse, resultWaitMs: NO_WAIT })
      await send('111111')
      const response = await check()
      expect([response.status, codesIn(response)]).toStrictEqual([200, [null]])
    })
  }
})

describe('304', () => {
  test('an ETag from before parsing still matches, and the mail is parsed', async () => {
    const { send, check } = await openSession({
      parse: heldParser().parse,
      resultWaitMs: WAIT_FOREVER,
    })
    await send('111111')
    const empty = await check('&since_id=9007199254740991')
    const tag = { 'if-none-match': tagOf(empty) }
    const unchanged = await check('', tag)
    expect(unchanged.status).toBe(304)
    expect(codesIn(await check('&wait=55', tag))).toStrictEqual(['111111'])
  })
})
