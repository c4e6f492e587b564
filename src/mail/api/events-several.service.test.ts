import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApp, WAIT_FOR_EXTRACTION, WITHOUT_POLLING } from '../../../test/kit/app/app.ts'
import { checkMail, waitForLongPolls } from '../../../test/kit/http/api-client.ts'
import { post, problemFault, request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { type AppWithKeys, startAppWithKeys } from '../../../test/kit/shop/keys.ts'
import { openStreamAt } from '../testing/event-stream.ts'

// One stream for several mailboxes: /api/events with tokens.

let app: AppWithKeys
beforeAll(async () => {
  app = await startAppWithKeys({
    ...{ ...WAIT_FOR_EXTRACTION, env: PROXY_ENV, intervals: WITHOUT_POLLING },
  })
})
afterAll(() => app.stop())

type Mailbox = Awaited<ReturnType<typeof app.session>>
type Stream = Awaited<ReturnType<typeof openStreamAt>>

const UNKNOWN = 'u'.repeat(43)
const urlOf = (tokens: readonly string[], more = '') =>
  `${app.url}/api/events?tokens=${tokens.join()}${more}`
const openStream = (tokens: readonly string[], headers: Record<string, string> = {}, more = '') =>
  openStreamAt(urlOf(tokens, more), headers)
const mailboxes = (count: number): Promise<Mailbox[]> =>
  Promise.all(Array.from({ length: count }, () => app.session()))
const tokensOf = (boxes: readonly Mailbox[]) => boxes.map(({ token }) => token)
const send = async ({ email }: Mailbox, subject: string, from = 'ann@sender.test') =>
  expect(await app.mail(email, `From: ${from}\r\nSubject: ${subject}\r\n\r\nx\r\n`)).toBe(250)
const newestId = async ({ token }: Mailbox) => (await checkMail(app.url, token))[0]?.id

/** The next event, with its data. */
async function nextEvent(stream: Stream) {
  const { event, id, data } = (await stream.next()) ?? {}
  return { event, id, data: JSON.parse(data ?? 'null') as Record<string, unknown> }
}

describe('200', () => {
  test('events carry the address, and the id has a position for each token', async () => {
    const [ann, bob] = (await mailboxes(2)) as [Mailbox, Mailbox]
    await send(ann, 'before')
    const before = await newestId(ann)
    const stream = await openStream(tokensOf([ann, bob]))
    expect((await stream.next())?.['id']).toBe(`${before},0`)
    await send(bob, 'first')
    const [summary] = await checkMail(app.url, bob.token)
    const bobId = summary?.id ?? 0
    expect(await nextEvent(stream)).toStrictEqual({
      event: 'message',
      id: `${before},${bobId}`,
      data: { email: bob.email, ...summary },
    })
    await send(ann, 'second')
    expect(await nextEvent(stream)).toMatchObject({
      id: `${await newestId(ann)},${bobId}`,
      data: { email: ann.email, subject: 'second' },
    })
    await post(`${app.url}/api/delete-mail`, { token: bob.token, id: String(bobId) })
    expect(await nextEvent(stream)).toStrictEqual({
      event: 'deleted',
      id: undefined,
      data: { email: bob.email, id: bobId },
    })
    await stream.end()
  })

  test('Last-Event-ID resumes each mailbox where it was, and nothing is lost', async () => {
    const boxes = (await mailboxes(3)) as [Mailbox, Mailbox, Mailbox]
    const tokens = tokensOf(boxes)
    let stream = await openStream(tokens)
    let position = (await stream.next())?.['id'] ?? ''
    const received: unknown[] = []
    const receive = async () => {
      for (;;) {
        // After a reconnect, recent messages are reported again as updated.
        const { event, id, data } = await nextEvent(stream)
        if (event !== 'message') continue
        position = id ?? position
        received.push(data['subject'])
        return
      }
    }
    const sent: string[] = []
    for (const box of [...boxes, ...boxes.toReversed(), boxes[0]]) {
      sent.push(`mail ${sent.length}`)
      await send(box, sent.at(-1) ?? '')
      if (sent.length % 2 === 0) continue
      // Each stream is closed after one message, whatever else it was sent.
      await receive()
      await stream.end()
      stream = await openStream(tokens, { 'last-event-id': position })
      expect((await stream.next())?.['id']).toBe(position)
    }
    while (received.length < sent.length) await receive()
    expect(received.toSorted()).toStrictEqual(sent)
    await stream.end()
  })

  test('without a position for each token, Last-Event-ID is ignored; an empty one means now', async () => {
    const [ann, bob] = (await mailboxes(2)) as [Mailbox, Mailbox]
    await send(ann, 'old')
    await send(bob, 'old')
    const now = `${await newestId(ann)},${await newestId(bob)}`
    for (const [given, start] of [
      ['0', now],
      ['0,0,0', now],
      ['x,y', now],
      ['0,', `0,${await newestId(bob)}`],
    ] as const) {
      const stream = await openStream(tokensOf([ann, bob]), { 'last-event-id': given })
      expect((await stream.next())?.['id'], given).toBe(start)
      await stream.end()
    }
  })

  test('since_id and filters apply to every mailbox', async () => {
    const [ann, bob] = (await mailboxes(2)) as [Mailbox, Mailbox]
    for (const box of [ann, bob]) {
      await send(box, 'other')
      await send(box, 'wanted', 'a@shop.test')
    }
    const stream = await openStream(tokensOf([ann, bob]), {}, '&from=shop.test&since_id=0')
    expect((await stream.next())?.['id']).toBe('0,0')
    const events = [await nextEvent(stream), await nextEvent(stream)]
    const found = events.map(({ data: { email, subject } }) => [email, subject])
    expect(found.toSorted()).toStrictEqual(
      [ann, bob].map(({ email }) => [email, 'wanted']).toSorted(),
    )
    await stream.end()
  })

  test('a mailbox that ends gets an end event of its own, and the others go on', async () => {
    const [ann, bob, eve] = (await mailboxes(3)) as [Mailbox, Mailbox, Mailbox]
    const stream = await openStream(tokensOf([ann, bob, eve]))
    await stream.next()
    await post(`${app.url}/api/delete-session`, { token: bob.token })
    expect(await nextEvent(stream)).toStrictEqual({
      event: 'end',
      id: undefined,
      data: { email: bob.email, index: 1, reason: 'deleted' },
    })
    await send(eve, 'still here')
    expect((await nextEvent(stream)).data['subject']).toBe('still here')
    for (const { token } of [ann, eve]) await post(`${app.url}/api/delete-session`, { token })
    const ended = [await nextEvent(stream), await nextEvent(stream)]
    expect(ended.map(({ data }) => data['index']).toSorted()).toStrictEqual([0, 2])
    expect(await stream.next(), 'ends with the last mailbox').toBeUndefined()
  })

  test('an unknown or expired token among them gets its end event, and keeps its position', async () => {
    const polling = await startApp({ intervals: { ...WITHOUT_POLLING, pollMs: 50 } })
    const [short, long] = [await polling.session({ ttl: '60' }), await polling.session()]
    polling.moveClock(61)
    const tokens = [UNKNOWN, short.token, long.token]
    const stream = await openStreamAt(`${polling.url}/api/events?tokens=${tokens}`, {
      'last-event-id': '5,7,0',
    })
    expect((await stream.next())?.['id']).toBe('5,7,0')
    const ended = [await nextEvent(stream), await nextEvent(stream)]
    expect(ended.map(({ event, data }) => [event, data])).toStrictEqual([
      ['end', { email: null, index: 0, reason: 'deleted' }],
      ['end', { email: null, index: 1, reason: 'expired' }],
    ])
    await polling.mail(long.email)
    const { id, data } = await nextEvent(stream)
    expect([id, data['email']]).toStrictEqual([`5,7,${data['id']}`, long.email])
    await stream.end()
    await polling.stop()
  })

  test('a rolled token ends its part: nothing that arrives afterwards is sent', async () => {
    const key = await app.ring.issue()
    const [ann, bob] = [await app.session({}, key.headers), await app.session()]
    const stream = await openStream(tokensOf([ann, bob]))
    await stream.next()
    const roll = { email: ann.email }
    expect((await post(`${app.url}/sessions/roll-token`, roll, 'form', key.headers)).status).toBe(
      200,
    )
    await send(ann, 'secret')
    await send(bob, 'for Bob')
    const [end, message] = [await nextEvent(stream), await nextEvent(stream)]
    expect(end.data).toStrictEqual({ email: ann.email, index: 0, reason: 'deleted' })
    expect(message.data).toMatchObject({ email: bob.email, subject: 'for Bob' })
    await stream.end()
  })

  test('a stream of a mailbox beside others returns only mail of its own tokens', async () => {
    const [ann, bob, eve] = (await mailboxes(3)) as [Mailbox, Mailbox, Mailbox]
    const stream = await openStream([ann.token, UNKNOWN, eve.token], { 'last-event-id': '0,0,0' })
    await stream.next()
    expect((await nextEvent(stream)).event).toBe('end')
    await send(bob, 'for Bob')
    await send(eve, 'for Eve')
    expect((await nextEvent(stream)).data).toMatchObject({ email: eve.email, subject: 'for Eve' })
    await stream.end()
  })

  test('the tokens are accepted as Bearer', async () => {
    const [ann, bob] = (await mailboxes(2)) as [Mailbox, Mailbox]
    const authorization = `Bearer ${ann.token},${bob.token}`
    const stream = await openStreamAt(`${app.url}/api/events`, { authorization })
    expect((await stream.next())?.['id']).toBe('0,0')
    await stream.end()
  })

  test('one token in tokens is a list of one', async () => {
    const [ann] = (await mailboxes(1)) as [Mailbox]
    const stream = await openStream([ann.token])
    expect((await stream.next())?.['id']).toBe('0')
    await send(ann, 'one')
    expect((await nextEvent(stream)).data['email']).toBe(ann.email)
    await stream.end()
  })

  test('HEAD opens no stream', async () => {
    const boxes = await mailboxes(2)
    const response = await request(urlOf(tokensOf(boxes)), { method: 'HEAD' })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
  })

  test('each token counts as a stream, and all are released together', async () => {
    const stream = await openStream([...tokensOf(await mailboxes(19)), UNKNOWN])
    await stream.next()
    await waitForLongPolls(19, app)
    await stream.end()
    await waitForLongPolls(0, app)
  })
})

describe('400', () => {
  test('both token and tokens, more than 20 tokens, the same one twice, or none', async () => {
    const [{ token }] = (await mailboxes(1)) as [Mailbox]
    const bearer = { authorization: `Bearer ${token}` }
    for (const [query, headers, code, name] of [
      [`token=${token}&tokens=${token}`, {}, 'invalid_parameter', 'tokens'],
      [`tokens=${token}`, bearer, 'invalid_parameter', 'tokens'],
      [`tokens=${token},${token}`, {}, 'invalid_parameter', 'tokens'],
      [
        `tokens=${Array.from({ length: 21 }, (_, at) => `t${at}`)}`,
        {},
        'invalid_parameter',
        'tokens',
      ],
      [`tokens=${token}&tokens=${token}`, {}, 'invalid_parameter', 'tokens'],
      ['tokens=', {}, 'missing_parameter', 'token'],
    ] as const) {
      const response = await request(`${app.url}/api/events?${query}`, { headers })
      expect([response.status, response.body['code']], query).toStrictEqual([400, code])
      expect(String(response.body['message'])).toMatch(new RegExp(`^${name}: `))
      expect(problemFault(response)).toBeUndefined()
    }
  })
})

describe('401', () => {
  test('only unknown tokens', async () => {
    const response = await request(urlOf([UNKNOWN, 'x']))
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
    expect(problemFault(response)).toBeUndefined()
  })
})

describe('429', () => {
  test('each token counts as a request', async () => {
    const now = new Date()
    const server = await openTestServer({ env: PROXY_ENV, now: () => now })
    const path = `/api/events?tokens=${Array.from({ length: 20 }, (_, at) => `t${at}`)}`
    const headers = { 'x-forwarded-for': newClient() }
    const statuses: number[] = []
    for (let sent = 0; sent < 11; sent += 1) {
      statuses.push((await requestFrom(server.port, PROXY, { path, headers })).status)
    }
    expect(statuses).toStrictEqual([...Array(10).fill(401), 429])
    await server.stop()
  })
})

describe('503', () => {
  test('a mailbox with 100 streams has no room for another, and none of the others keeps one', async () => {
    const [ann, bob] = (await mailboxes(2)) as [Mailbox, Mailbox]
    const streams = await Promise.all(
      Array.from({ length: 100 }, () => openStream(tokensOf([ann]))),
    )
    const response = await request(urlOf(tokensOf([bob, ann])))
    expect([response.status, response.body['code']]).toStrictEqual([503, 'overloaded'])
    expect(problemFault(response)).toBeUndefined()
    await waitForLongPolls(100, app)
    await Promise.all(streams.map(({ end }) => end()))
    await waitForLongPolls(0, app)
  })
})
