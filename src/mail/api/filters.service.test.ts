import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WITHOUT_POLLING } from '../../../test/kit/app/app.ts'
import { post, problemFault, request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { waitForWaits } from '../../../test/kit/http/waiting-requests.ts'
import { parseMail } from '../../mime/parse.ts'
import { heldParser, NO_WAIT, WAIT_FOREVER } from '../testing/codes.ts'

let server: TestServer
beforeAll(async () => {
  server = await openTestServer({
    parse: async (raw) => parseMail(raw),
    resultWaitMs: WAIT_FOREVER,
    intervals: WITHOUT_POLLING,
  })
})
afterAll(() => server.stop())

interface Listed {
  id: number
  subject: string
}

async function createSession({ url }: { url: string } = server) {
  const { body } = await request(`${url}/api/create-session`, { method: 'POST' })
  return { email: String(body['email']), token: String(body['token']) }
}

const mailOf = (from: string, subject: string, text = 'hello') =>
  `From: Sender <${from}>\r\nSubject: ${subject}\r\n\r\n${text}\r\n`
const LINK = 'Verify your address: https://shop.test/verify?t=1'
const check = (token: string, query: Record<string, string>, headers = {}, { url } = server) =>
  request(`${url}/api/check-mail?${new URLSearchParams({ token, ...query })}`, { headers })
const listed = ({ body }: Awaited<ReturnType<typeof check>>) => body['messages'] as Listed[]
const subjects = (response: Awaited<ReturnType<typeof check>>) =>
  listed(response).map(({ subject }) => subject)

/** A session with three mails. */
async function sessionWithMail() {
  const session = await createSession()
  await server.mail(session.email, mailOf('ann@shop.test', 'One', 'Your code is 482913.'))
  await server.mail(session.email, mailOf('bob@mail.shop.test', 'Two', LINK))
  await server.mail(session.email, mailOf('eve@other.test', 'Three', 'Your code is 777123.'))
  return session
}

describe('check-mail, 200', () => {
  for (const [query, expected] of [
    [{ from: 'shop.test' }, ['Two', 'One']],
    [{ from: 'ANN@shop.test' }, ['One']],
    [{ subject: 't' }, ['Three', 'Two']],
    [{ has_code: '1' }, ['Three', 'One']],
    [{ has_code: '0' }, ['Three', 'Two', 'One']],
    [{ has_link: '1' }, ['Two']],
    [{ has_link: '1', has_code: '1' }, []],
    [{ from: 'shop.test', has_code: '1' }, ['One']],
    [{ from: 'shop.test', limit: '1' }, ['Two']],
    [{ from: '', subject: '' }, ['Three', 'Two', 'One']],
    [{ subject: 'four' }, []],
  ] as const) {
    test(`${JSON.stringify(query)} lists ${expected.join(', ') || 'nothing'}`, async () => {
      const { token } = await sessionWithMail()
      expect(subjects(await check(token, query))).toStrictEqual(expected)
    })
  }

  test('since_id counts all messages, also those that do not match', async () => {
    const { token } = await sessionWithMail()
    const [three, two] = listed(await check(token, {}))
    expect(
      subjects(await check(token, { from: 'shop.test', since_id: `${two?.id}` })),
    ).toStrictEqual([])
    const since = await check(token, { from: 'other.test', since_id: `${two?.id}` })
    expect(listed(since)[0]?.id).toStrictEqual(three?.id)
  })

  test('a filtered list has no ETag and ignores If-None-Match', async () => {
    const { token } = await sessionWithMail()
    const etag = (await check(token, {})).headers.get('etag') ?? ''
    const response = await check(token, { from: 'shop.test' }, { 'if-none-match': etag })
    expect([response.status, response.headers.get('etag')]).toStrictEqual([200, null])
    const waited = await check(token, { from: 'shop.test', wait: '5' }, { 'if-none-match': etag })
    expect([waited.status, subjects(waited)]).toStrictEqual([200, ['Two', 'One']])
  })

  test('a filtered list has previews and numbers of attachments', async () => {
    const { token } = await sessionWithMail()
    const [message] = (await check(token, { from: 'ann@shop.test' })).body['messages'] as object[]
    const { code, preview, attachments } = message as Record<string, unknown>
    expect([code, preview, attachments]).toStrictEqual(['482913', 'Your code is 482913.', 0])
  })

  test('a hundred mails that do not match do not end a wait; the one that does ends it', async () => {
    const { email, token } = await createSession()
    const waiting = [
      { from: 'shop.test' },
      { subject: 'wanted' },
      { has_code: '1' },
      { has_link: '1' },
    ].map((query) => check(token, { ...query, wait: '55' }))
    let ended = 0
    for (const wait of waiting) void wait.then(() => (ended += 1))
    await waitForWaits(4)
    for (let sent = 0; sent < 100; sent += 1) {
      await server.mail(email, mailOf('eve@other.test', `No ${sent}`))
    }
    // A wait that any mail ended would have been answered before this request.
    await check(token, {})
    expect(ended).toBe(0)
    await server.mail(
      email,
      mailOf('ann@shop.test', 'Wanted', `Your code is 482913.\r\n\r\n${LINK}`),
    )
    for (const wait of waiting) expect(subjects(await wait)).toStrictEqual(['Wanted'])
  })

  test('a wait without a match returns an empty list and timed_out', async () => {
    const { token } = await sessionWithMail()
    const { body, headers } = await check(token, { from: 'nobody.test', wait: '1' })
    expect([body['messages'], body['timed_out'], headers.get('etag')]).toStrictEqual([
      [],
      true,
      null,
    ])
  })
})

describe('has_code, while parsing is slow', () => {
  async function openSlow() {
    const parser = heldParser()
    const slow = await openTestServer({
      parse: parser.parse,
      resultWaitMs: NO_WAIT,
      intervals: WITHOUT_POLLING,
    })
    onTestFinished(async () => {
      parser.release()
      await slow.stop()
    })
    const { body } = await request(`${slow.url}/api/create-session`, { method: 'POST' })
    const token = String(body['token'])
    return {
      parser,
      slow,
      token,
      send: (code: string) => slow.mail(String(body['email']), `Subject: s${code}\r\n\r\n${code}`),
      list: (query = {}) => check(token, { has_code: '1', ...query }, {}, slow),
    }
  }

  test('a message is listed once it is parsed', async () => {
    const { parser, send, list } = await openSlow()
    parser.hold()
    await send('111111')
    expect(subjects(await list())).toStrictEqual([])
    const waiting = list({ wait: '55' })
    parser.release()
    expect(subjects(await waiting)).toStrictEqual(['s111111'])
  })

  test('a wait goes on while mail without a code is parsed', async () => {
    const { parser, send, list } = await openSlow()
    parser.hold()
    const waiting = list({ wait: '55' })
    await waitForWaits(1)
    await send('')
    while (parser.read.length === 0) await new Promise(setImmediate)
    parser.release()
    await send('222222')
    expect(subjects(await waiting)).toStrictEqual(['s222222'])
  })

  test('the first event of a message is `message`, once it is parsed', async () => {
    const { parser, send, slow, token } = await openSlow()
    parser.hold()
    const events = await openEvents(slow.url, { token, has_code: '1', since_id: '0' })
    await send('111111')
    await send('')
    while (parser.read.length < 2) await new Promise(setImmediate)
    parser.release()
    expect(await events.next()).toStrictEqual({ name: 'message', subject: 's111111' })
    await send('222222')
    expect(await events.next()).toStrictEqual({ name: 'message', subject: 's222222' })
    events.end()
  })

  test('a client that reconnects with Last-Event-ID gets the message that was not parsed yet', async () => {
    const { parser, send, slow, token } = await openSlow()
    const query = { token, has_code: '1', since_id: '0' }
    parser.hold('111111')
    const events = await openEvents(slow.url, query)
    await send('111111')
    await send('222222')
    expect(await events.next()).toStrictEqual({ name: 'message', subject: 's222222' })
    events.end()
    const again = await openEvents(slow.url, query, events.lastEventId())
    expect(await again.next()).toStrictEqual({ name: 'message', subject: 's222222' })
    parser.release()
    expect(await again.next()).toStrictEqual({ name: 'message', subject: 's111111' })
    again.end()
    const last = await openEvents(slow.url, query, again.lastEventId())
    await send('333333')
    for (const subject of ['s111111', 's222222']) {
      expect(await last.next()).toStrictEqual({ name: 'updated', subject })
    }
    expect(await last.next()).toStrictEqual({ name: 'message', subject: 's333333' })
    last.end()
  })
})

async function openEvents(url: string, query: Record<string, string>, lastEventId?: string) {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  const { body } = await fetch(`${url}/api/events?${new URLSearchParams(query)}`, { headers })
  expect.assert(body)
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let resumeAfter: string | undefined
  return {
    /** Name of the next event, and the subject of its message, or the id if it was deleted. */
    async next() {
      for (;;) {
        const found = /event: (\w+)\n(?:id: (\d+)\n)?data: (.*)\n\n/.exec(text)
        if (found) {
          text = text.slice(found.index + found[0].length)
          resumeAfter = found[2] ?? resumeAfter
          const { id, subject } = JSON.parse(found[3] ?? '{}') as Partial<Listed>
          return { name: found[1], ...(subject === undefined ? { id } : { subject }) }
        }
        const { done, value } = await reader.read()
        expect(done, `the stream ended: ${text}`).toBeFalsy()
        text += value
      }
    },
    /** What EventSource sends when it reconnects. */
    lastEventId: () => resumeAfter ?? expect.fail(),
    end: () => void reader.cancel(),
  }
}

describe('400', () => {
  for (const path of ['/api/check-mail', '/api/events']) {
    test(`${path} refuses invalid filters`, async () => {
      const { token } = await createSession()
      for (const [name, value] of [
        ['from', 'ann@'],
        ['from', 'a b.test'],
        ['subject', 'x'.repeat(201)],
        ['has_code', '2'],
        ['has_link', 'yes'],
      ] as const) {
        const query = new URLSearchParams({ token, [name]: value })
        const response = await request(`${server.url}${path}?${query}`)
        expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
        expect(String(response.body['message'])).toMatch(new RegExp(`^${name}: `))
        expect(problemFault(response)).toBeUndefined()
      }
    })
  }
})

describe('events, 200', () => {
  test('with has_link, a message is reported once it is parsed', async () => {
    const { email, token } = await createSession()
    const events = await openEvents(server.url, { token, has_link: '1', since_id: '0' })
    const unsubscribe = 'Unsubscribe: https://shop.test/unsubscribe'
    for (const text of ['Your code is 482913.', unsubscribe, LINK]) {
      await server.mail(email, mailOf('ann@shop.test', text.slice(0, 6), text))
    }
    expect(await events.next()).toStrictEqual({ name: 'message', subject: 'Verify' })
    events.end()
  })

  test('only matching messages are reported, and their deletions', async () => {
    const { email, token } = await createSession()
    const events = await openEvents(server.url, { token, from: 'shop.test', since_id: '0' })
    for (const [from, subject] of [
      ['eve@other.test', 'no'],
      ['ann@shop.test', 'yes'],
    ] as const) {
      await server.mail(email, mailOf(from, subject))
    }
    expect(await events.next()).toStrictEqual({ name: 'message', subject: 'yes' })
    const [yes, no] = listed(await check(token, {}))
    for (const message of [no, yes]) {
      await post(`${server.url}/api/delete-mail`, { token, id: String(message?.id) })
    }
    expect(await events.next()).toStrictEqual({ name: 'deleted', id: yes?.id })
    await server.mail(email, mailOf('ann@shop.test', 'again'))
    expect(await events.next()).toStrictEqual({ name: 'message', subject: 'again' })
    events.end()
  })
})
