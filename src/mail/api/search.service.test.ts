import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WITHOUT_POLLING } from '../../../test/kit/app/app.ts'
import { post, request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { parseMail } from '../../mime/parse.ts'
import { heldParser, NO_WAIT, WAIT_FOREVER } from '../testing/codes.ts'

let server: TestServer
beforeAll(async () => {
  server = await openTestServer({
    env: PROXY_ENV,
    parse: async (raw) => parseMail(raw),
    resultWaitMs: WAIT_FOREVER,
    intervals: WITHOUT_POLLING,
  })
})
afterAll(() => server.stop())

async function createSession({ url } = server) {
  const { body } = await request(`${url}/api/create-session`, { method: 'POST' })
  return { email: String(body['email']), token: String(body['token']) }
}

const search = (token: string, query: Record<string, string>, { url } = server) =>
  request(`${url}/api/check-mail?${new URLSearchParams({ token, ...query })}`)
const subjects = ({ body }: Awaited<ReturnType<typeof search>>) =>
  (body['messages'] as { subject: string }[]).map(({ subject }) => subject)

async function sessionWithMail() {
  const session = await createSession()
  for (const mail of [
    'From: Ann Müller <ann@shop.test>\r\nSubject: One\r\n\r\nThe invoice is attached.',
    'From: bob@other.test\r\nSubject: Two\r\nContent-Type: text/html\r\n\r\n<p>Your <b>INV</b>OICE</p><style>hidden</style>',
    'From: eve@other.test\r\nSubject: Three invoices\r\n\r\nYour code is 482913.',
    'From: news@weekly.test\r\nSubject: Four\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\nSee our page.\r\n--b\r\nContent-Type: text/html\r\n\r\n<style>.hid{}</style><h1>Three <b>rec</b>ipes</h1><p>for&nbsp;autumn\r\nevenings</p>\r\n--b--',
  ]) {
    await server.mail(session.email, `${mail}\r\n`)
  }
  return session
}

describe('200', () => {
  for (const [query, expected] of [
    [{ q: 'invoice' }, ['Three invoices', 'Two', 'One']],
    [{ q: 'MÜLLER' }, ['One']],
    [{ q: '@other.test' }, ['Three invoices', 'Two']],
    [{ q: 'attached' }, ['One']],
    [{ q: 'hidden' }, []],
    [{ q: 'see our page' }, ['Four']],
    [{ q: 'recipes for Autumn evenings' }, ['Four']],
    [{ q: '.hid' }, []],
    [{ q: 'invoice', limit: '1' }, ['Three invoices']],
    [{ q: 'invoice', from: 'other.test' }, ['Three invoices', 'Two']],
    [{ q: 'invoice', has_code: '1' }, ['Three invoices']],
  ] as const) {
    test(`${JSON.stringify(query)} finds ${expected.join(', ') || 'nothing'}`, async () => {
      const { token } = await sessionWithMail()
      const response = await search(token, query)
      expect(subjects(response)).toStrictEqual(expected)
      expect('incomplete' in response.body).toBe(false)
      expect(response.headers.get('etag')).toBe(null)
    })
  }

  test('the mail of another session is not found', async () => {
    await sessionWithMail()
    const { token } = await createSession()
    expect(subjects(await search(token, { q: 'invoice' }))).toStrictEqual([])
  })

  test('a message found by its subject makes it incomplete until it is parsed', async () => {
    const { parser, send, find } = await openSlow()
    await send('needle', 'x')
    parser.hold()
    expect(await find()).toStrictEqual({ found: ['needle'], incomplete: true })
    parser.release()
    expect(await find()).toStrictEqual({ found: ['needle'], incomplete: false })
  })

  test('mails that are slow to parse hide neither those that are parsed nor their own subjects', async () => {
    const { parser, send, find } = await openSlow()
    // Large ones are read one at a time, with pauses.
    const large = `needle ${'hay '.repeat(70_000)}`
    await send('one', large)
    await send('two', large)
    await send('three', large)
    expect(await find()).toStrictEqual({ found: ['three', 'two', 'one'], incomplete: false })
    parser.hold()
    await send('a needle', 'slow')
    for (let sent = 0; sent < 6; sent += 1) await send('new', 'needle')
    const found = ['a needle', 'three', 'two', 'one']
    expect(await find()).toStrictEqual({ found, incomplete: true })
  })

  test('it is incomplete if messages that might be listed are not parsed; later they are found', async () => {
    const { parser, send, find } = await openSlow()
    parser.hold('a needle')
    await send('slow', 'a needle')
    await send('needle', '')
    expect(await find({ limit: '1' })).toStrictEqual({ found: ['needle'], incomplete: false })
    expect(await find({ limit: '2' })).toStrictEqual({ found: ['needle'], incomplete: true })
    parser.release()
    expect(await find()).toStrictEqual({ found: ['needle', 'slow'], incomplete: false })
  })

  test('a message deleted during the search does not make it incomplete', async () => {
    const { parser, send, find, remove } = await openSlow()
    await send('kept', 'needle')
    await find()
    parser.hold()
    await send('deleted', 'needle')
    const searching = find()
    while (parser.read.length < 2) await new Promise(setImmediate)
    await remove('deleted')
    parser.release()
    expect(await searching).toStrictEqual({ found: ['kept'], incomplete: false })
  })

  test('it is incomplete if a message deleted during the search kept an older one off the page', async () => {
    const { parser, send, find, remove } = await openSlow()
    await send('older', 'needle')
    await find()
    parser.hold('slow')
    await send('a needle', '')
    await send('new', 'slow')
    const searching = find({ limit: '1' })
    while (!parser.read.includes('slow')) await new Promise(setImmediate)
    await remove('a needle')
    parser.release()
    expect(await searching).toStrictEqual({ found: [], incomplete: true })
    expect(await find({ limit: '1' })).toStrictEqual({ found: ['older'], incomplete: false })
  })

  test('only the first 100,000 characters of a text are searched; it is incomplete if there are more', async () => {
    const { email, token } = await createSession()
    await server.mail(
      email,
      `Subject: x\r\n\r\nfirst\r\n${'hay hay hay\r\n'.repeat(10_000)}last\r\n`,
    )
    const [first, last] = [await search(token, { q: 'first' }), await search(token, { q: 'last' })]
    expect([subjects(first), 'incomplete' in first.body]).toStrictEqual([['x'], false])
    expect([subjects(last), 'incomplete' in last.body]).toStrictEqual([[], true])
  })
})

/** A mailbox of a server whose parser can be blocked. */
async function openSlow() {
  const parser = heldParser()
  const options = { parse: parser.parse, resultWaitMs: NO_WAIT, intervals: WITHOUT_POLLING }
  const slow = await openTestServer(options)
  onTestFinished(async () => {
    parser.release()
    await slow.stop()
  })
  const { email, token } = await createSession(slow)
  return {
    parser,
    token,
    slow,
    send: (subject: string, text: string) => slow.mail(email, `Subject: ${subject}\r\n\r\n${text}`),
    /** Searches for `needle`. */
    async find(query: Record<string, string> = {}) {
      const response = await search(token, { q: 'needle', ...query }, slow)
      return { found: subjects(response), incomplete: 'incomplete' in response.body }
    },
    async remove(subject: string) {
      const { body } = await search(token, { subject }, slow)
      const [{ id } = { id: 0 }] = body['messages'] as { id: number }[]
      await post(`${slow.url}/api/delete-mail`, { token, id: String(id) })
    },
  }
}

test('401: the session is deleted during the search', async () => {
  const { parser, send, token, slow } = await openSlow()
  parser.hold()
  await send('slow', '')
  const searching = search(token, { q: 'needle' }, slow)
  while (parser.read.length === 0) await new Promise(setImmediate)
  await post(`${slow.url}/api/delete-session`, { token })
  parser.release()
  const { status, body } = await searching
  expect([status, body['code']]).toStrictEqual([401, 'invalid_token'])
})

test('429: a mailbox is searched 60 times a minute; lists are not affected', async () => {
  const { token } = await createSession()
  const get = (query: string) =>
    requestFrom(server.port, PROXY, {
      path: `/api/check-mail?token=${token}${query}`,
      headers: { 'x-forwarded-for': newClient() },
    })
  let passed = 0
  for (;;) {
    const { status, body } = await get('&q=abc')
    if (status !== 200) {
      expect([status, body['code']]).toStrictEqual([429, 'rate_limited'])
      break
    }
    passed += 1
    expect(passed, 'no search was refused').toBeLessThan(200)
  }
  expect(passed, `${passed} passed`).toBeGreaterThanOrEqual(60)
  expect((await get('')).status).toBe(200)
})

describe('400 invalid_parameter', () => {
  for (const query of [
    { from: '@shop.test' },
    { from: 'two words' },
    { subject: 'a'.repeat(201) },
    { has_code: '2' },
    { q: 'a' },
    { q: 'a'.repeat(101) },
    { q: 'abc', wait: '1' },
  ] as Record<string, string>[]) {
    test(`for ${JSON.stringify(query).slice(0, 40)}`, async () => {
      const { token } = await createSession()
      const response = await search(token, query)
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
      expect(String(response.body['message'])).toMatch(new RegExp(`^${Object.keys(query)[0]}: `))
    })
  }
})
