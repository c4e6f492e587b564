import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { request } from '../../test/kit/http/http-client.ts'
import { openReceiver } from '../../test/kit/http/webhook-receiver.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from '../../test/kit/shop/keys.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'

let app: AppWithKeys
let receiver: Awaited<ReturnType<typeof openReceiver>>
let key: TestKey
beforeAll(async () => {
  app = await startAppWithKeys({ env: { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' } })
  receiver = await openReceiver()
})
afterAll(async () => {
  await app.stop()
  await receiver.close()
})
beforeEach(async () => {
  key = await app.ring.issue()
  receiver.received.length = 0
  receiver.state.behaviour = 200
})

type Params = Record<string, string>
const call = (path: string, params?: Params, { headers }: Pick<TestKey, 'headers'> = key) =>
  request(`${app.url}/webhooks${path}`, {
    headers,
    ...(params && { method: 'POST', body: new URLSearchParams(params) }),
  })

interface WebhookJson extends Record<string, unknown> {
  id: string
  secret: string
}
async function create(params: Params = {}): Promise<WebhookJson> {
  const { status, body, text } = await call('', { url: receiver.url, ...params })
  expect(status, text).toBe(200)
  return body['webhook'] as WebhookJson
}
const read = async (id: string) => (await call(`/${id}`)).body['webhook'] as WebhookJson
const received = (count: number) => waitUntil(() => receiver.received.length >= count)
/** So many are received, and the last of them is recorded. */
async function delivered(id: string, count: number): Promise<void> {
  await received(count)
  const { event } = receiver.received[count - 1] ?? {}
  await waitUntil(async () => (await read(id))['last_message_id'] === event?.data['id'])
}

let addresses = 0
/** Nobody else's mail in this file. */
function newAddress(): string {
  addresses += 1
  return `hook${addresses}@pool.test`
}

const mailWith = (subject: string, body = 'Your code is 123456.') =>
  `From: Ann <ann@sender.test>\r\nTo: You <you@pool.test>\r\nSubject: ${subject}\r\n\r\n${body}\r\n`

describe('200', () => {
  test('mail is delivered as it arrives, signed, and costs one request each', async () => {
    const to = newAddress()
    await app.mail(to, mailWith('before'))
    const { id, secret, ...webhook } = await create({ to })
    expect([webhook['state'], webhook['reason'], webhook['to'], webhook['backlog']]).toStrictEqual([
      'active',
      null,
      to,
      null,
    ])
    const text = 'Your code is 493 027.\r\nhttps://site.test/verify?x=1'
    await app.mail(to, mailWith('first', text))
    await app.mail(to, mailWith('second'))
    await received(2)
    expect(receiver.subjects()).toStrictEqual(['first', 'second'])
    const [first] = receiver.received
    expect.assert(first)
    const event = new Verifier(secret).verify(first.body, first.headers) as typeof first.event
    const { id: messageId, date, date_iso: iso, size, links, ...data } = event.data
    expect(data).toStrictEqual({
      address: to,
      from: 'ann@sender.test',
      to,
      subject: 'first',
      code: '493027',
      attachments: 0,
    })
    expect(event.type).toBe('message.received')
    expect([event.timestamp, String(date).replace(' ', 'T')]).toStrictEqual([
      iso,
      `${iso}`.slice(0, -1),
    ])
    expect.assert(Number(size) > 100)
    expect((links as { url: string }[])[0]?.url).toBe('https://site.test/verify?x=1')

    await delivered(id, 2)
    expect(await app.ring.used(key)).toBe(2)
    const { body } = await call(`/${id}/deliveries`)
    const deliveries = body['deliveries'] as Record<string, unknown>[]
    expect(deliveries.map(({ attempt, status, error }) => [attempt, status, error])).toStrictEqual([
      [1, 200, null],
      [1, 200, null],
    ])
    expect(deliveries[1]?.['message_id']).toBe(messageId)
  })

  test('with since_id, stored mail is delivered, too; a replay delivers it again', async () => {
    const to = newAddress()
    await app.mail(to, mailWith('stored'))
    const { id } = await create({ to, since_id: '0' })
    await delivered(id, 1)
    const { status, body } = await call(`/${id}/replay`, { since_id: '0' })
    expect(status).toBe(200)
    expect((body['webhook'] as WebhookJson)['id']).toBe(id)
    await received(2)
    const [one, again] = receiver.received
    expect(one?.body).toBe(again?.body)
    expect(one?.id).not.toBe(again?.id)
    await waitUntil(async () => (await app.ring.used(key)) === 2)
  })

  test('only the mail of the key and of the pool is delivered, with the conditions given', async () => {
    const other = await app.ring.issue()
    const [mine, theirs] = [
      await app.session({ domain_id: '1' }, key.headers),
      await app.session({ domain_id: '1' }, other.headers),
    ]
    await create({ subject: `for me ${mine.email}` })
    await app.mail(theirs.email, mailWith(`for me ${mine.email}`))
    await app.mail(mine.email, mailWith('something else'))
    await app.mail(mine.email, mailWith(`For Me ${mine.email}`))
    await received(1)
    expect(receiver.received.map(({ event }) => event.data['address'])).toStrictEqual([mine.email])
  })

  test('a test is sent at once, signed and free', async () => {
    const { id, secret } = await create({ to: newAddress() })
    const { body } = await call(`/${id}/test`, {})
    const { ms, ...delivery } = body['delivery'] as Record<string, unknown>
    expect(delivery).toStrictEqual({ status: 200, error: null })
    expect(typeof ms).toBe('number')
    const [one] = receiver.received
    expect.assert(one)
    const event = new Verifier(secret).verify(one.body, one.headers) as typeof one.event
    expect([event.type, event.data]).toStrictEqual(['webhook.test', { webhook_id: id }])
    expect(await app.ring.used(key)).toBe(0)
    expect((await call(`/${id}/deliveries`)).body['deliveries']).toStrictEqual([])
    receiver.state.behaviour = 500
    expect(((await call(`/${id}/test`, {})).body['delivery'] as { status: number }).status).toBe(
      500,
    )
  })

  test('after a roll both secrets verify a delivery', async () => {
    const { id, secret } = await create({ to: newAddress() })
    const { status, body } = await call(`/${id}/roll-secret`, {})
    expect(status).toBe(200)
    expect(body['secret']).not.toBe(secret)
    await call(`/${id}/test`, {})
    const [one] = receiver.received
    expect.assert(one)
    for (const each of [secret, String(body['secret'])]) {
      new Verifier(each).verify(one.body, one.headers)
    }
    expect((await read(id))['old_secret_until']).toBe(body['old_secret_until'])
  })

  test('a failing webhook says why and when it tries again; enabling it tries now', async () => {
    const to = newAddress()
    const { id } = await create({ to })
    receiver.state.behaviour = 503
    await app.mail(to, mailWith('late'))
    await waitUntil(async () => (await read(id))['state'] === 'failing')
    const failing = await read(id)
    expect(failing['reason']).toBe('status_503')
    expect(String(failing['next_attempt_at'])).toMatch(/^\d{4}-/)
    receiver.state.behaviour = 200
    expect((await call(`/${id}/enable`, {})).status).toBe(200)
    await received(2)
    await waitUntil(async () => (await read(id))['state'] === 'active')
    expect(await app.ring.used(key)).toBe(1)
  })

  test('a changed webhook keeps its secret, and delivers from where it was', async () => {
    const [to, other] = [newAddress(), newAddress()]
    const moved = await openReceiver()
    onTestFinished(moved.close)
    const { id, secret } = await create({ to, subject: 'code' })
    await app.mail(to, mailWith('code 1'))
    await delivered(id, 1)
    const { status, body, text } = await call(`/${id}`, { url: moved.url, clear: 'subject' })
    expect(status, text).toBe(200)
    const { url, subject, state } = body['webhook'] as WebhookJson
    expect([url, subject, state]).toStrictEqual([moved.url, null, 'active'])
    expect('secret' in (body['webhook'] as WebhookJson)).toBe(false)
    await app.mail(to, mailWith('second'))
    await waitUntil(() => moved.received.length === 1)
    const [one] = moved.received
    expect.assert(one)
    new Verifier(secret).verify(one.body, one.headers)
    await waitUntil(async () => (await read(id))['last_message_id'] === one.event.data['id'])

    await call(`/${id}`, { to: other })
    await app.mail(to, mailWith('to the former address'))
    await app.mail(other, mailWith('to the new one'))
    await waitUntil(() => moved.received.length === 2)
    expect(moved.subjects()).toStrictEqual(['second', 'to the new one'])
    expect(receiver.subjects()).toStrictEqual(['code 1'])
  })

  test('a paused webhook delivers nothing until it is active', async () => {
    const to = newAddress()
    const { id } = await create({ to })
    const state = async () => [(await read(id))['state'], (await read(id))['reason']]
    await call(`/${id}`, { state: 'paused' })
    expect(await state()).toStrictEqual(['paused', null])
    await app.mail(to, mailWith('while paused'))
    const other = await create({ to, since_id: '0' })
    await delivered(other.id, 1)
    expect(await app.ring.used(key), 'only the other one was charged').toBe(1)
    await call(`/${id}`, { state: 'active' })
    await delivered(id, 2)
    expect(await state()).toStrictEqual(['active', null])
  })

  test('a disabled webhook is enabled again', async () => {
    const to = newAddress()
    const { id } = await create({ to })
    receiver.state.behaviour = 410
    await app.mail(to, mailWith('gone'))
    await waitUntil(async () => (await read(id))['state'] === 'disabled')
    expect((await read(id))['reason']).toBe('gone')
    receiver.state.behaviour = 200
    await call(`/${id}/enable`, {})
    await received(2)
    await waitUntil(async () => (await app.ring.used(key)) === 1)
  })

  test('all webhooks of a key without quota are paused; enabling one tries now', async () => {
    const limited = await app.ring.issue({ requests: 10, perDay: 1 })
    const to = newAddress()
    const { body } = await call('', { url: receiver.url, to }, limited)
    const { id } = body['webhook'] as WebhookJson
    await call('', { url: receiver.url, to: newAddress() }, limited)
    const states = async () => {
      const { webhooks } = (await call('', undefined, limited)).body
      return (webhooks as WebhookJson[]).map((one) => [one['state'], one['reason']].join(' '))
    }
    await app.mail(to, mailWith('1'))
    await app.mail(to, mailWith('2'))
    await waitUntil(async () => (await states())[0] === 'paused daily_limit')
    // Otherwise the state would tell for nothing whether there is mail.
    expect(await states()).toStrictEqual(Array(2).fill('paused daily_limit'))
    expect(await app.ring.used(limited)).toBe(1)
    app.moveClock(86_400)
    expect(await states()).toStrictEqual(Array(2).fill('active '))
    await call(`/${id}/enable`, {}, limited)
    await received(2)
    expect(receiver.subjects()).toStrictEqual(['1', '2'])
  })

  test('webhooks are listed oldest first, without secrets, and are deleted', async () => {
    const ids = [(await create()).id, (await create()).id]
    const list = async () => (await call('')).body['webhooks'] as WebhookJson[]
    expect((await list()).map(({ id }) => id)).toStrictEqual(ids)
    expect.assert((await list()).every((webhook) => !('secret' in webhook)))
    const { status, body } = await call(`/${ids[0]}/delete`, {})
    expect([status, body['message']]).toStrictEqual([200, 'Webhook deleted.'])
    expect((await list()).map(({ id }) => id)).toStrictEqual(ids.slice(1))
    const options = { method: 'DELETE', headers: key.headers }
    const deleted = await request(`${app.url}/webhooks/${ids[1]}`, options)
    expect([deleted.status, deleted.body['message']]).toStrictEqual([200, 'Webhook deleted.'])
    expect(await list()).toStrictEqual([])
  })

  test('a key without quota may still manage its webhooks', async () => {
    const limited = await app.ring.issue({ requests: 1 })
    const { status, headers, body } = await call('', { url: receiver.url }, limited)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    await request(`${app.url}/emails`, { headers: limited.headers })
    const { id } = body['webhook'] as WebhookJson
    expect((await call('', undefined, limited)).status).toBe(200)
    expect((await call(`/${id}/delete`, {}, limited)).status).toBe(200)
  })

  test('what a webhook says about pool mail costs a request, also if it cannot deliver and is deleted', async () => {
    const [full, empty] = [newAddress(), newAddress()]
    for (const subject of ['1', '2', '3']) await app.mail(full, mailWith(subject))
    const url = 'http://127.0.0.1:1/'
    const [one, other] = [
      await create({ url, to: full, since_id: '0' }),
      await create({ url, to: empty, since_id: '0' }),
    ]
    await waitUntil(async () => (await read(one.id))['state'] === 'failing')
    expect([one['backlog'], (await read(one.id))['backlog']]).toStrictEqual([null, null])
    expect([other['backlog'], (await read(other.id))['backlog']]).toStrictEqual([null, null])
    for (const { id } of [one, other]) await call(`/${id}/delete`, {})
    expect(await app.ring.used(key)).toBe(1)
  })
})
