import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Mayfly, MayflyError, MayflyTimeoutError, verifyWebhook } from '../clients/js/src/mayfly.ts'
import { caught, codeOf } from './kit/http/client-errors.ts'

// What the client does with responses that our service seldom gives, and with webhooks.

describe('429 and 503', () => {
  const answers: [number, Record<string, string>][] = []
  const server = createServer((_request, response) => {
    const [status, headers] = answers.shift() ?? [200, {}]
    const body = { status: 'error', message: 'Later.', code: 'rate_limited', messages: [] }
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  let url = ''
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => server.close())
  const list = async (options: { timeout?: number }) => {
    const mailbox = await new Mayfly({ url }).openMailbox('token')
    answers.push(...planned.splice(0))
    return await mailbox.messages(options)
  }
  const planned: typeof answers = []

  test('are retried after Retry-After', async () => {
    const soon = new Date(Date.now() - 1_000).toUTCString()
    planned.push([429, { 'retry-after': '0' }], [503, { 'retry-after': soon }])
    expect(await list({})).toStrictEqual([])
    expect(answers).toStrictEqual([])
  })

  test('are thrown at once if Retry-After is beyond the timeout', async () => {
    planned.push([429, { 'retry-after': '3600' }])
    const error = await caught(list({ timeout: 60_000 }))
    expect.assert(error instanceof MayflyError)
    expect([error.status, error.code, error.message]).toStrictEqual([429, 'rate_limited', 'Later.'])
  })

  test('of a proxy need not be JSON', async () => {
    const proxy = createServer((_request, response) => response.writeHead(502).end('<html>'))
    proxy.listen(0, '127.0.0.1')
    onTestFinished(() => void proxy.close())
    await once(proxy, 'listening')
    const { port } = proxy.address() as AddressInfo
    const error = await caught(new Mayfly({ url: `http://127.0.0.1:${port}` }).createMailbox())
    expect.assert(error instanceof MayflyError)
    expect([error.status, error.code, error.message]).toStrictEqual([
      502,
      'unknown',
      'HTTP status 502',
    ])
  })
})

test('a response that breaks off or stops in the middle is an error of the client', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('[')
    if (breaksOff) response.destroy()
  })
  server.listen(0, '127.0.0.1')
  onTestFinished(() => server.closeAllConnections())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new Mayfly({ url, apiKey: 'mf_live_key' })
  let breaksOff = true
  expect(codeOf(await caught(client.emails()))).toBe('network')
  breaksOff = false
  expect(await caught(client.emails({ timeout: 300 }))).toBeInstanceOf(MayflyTimeoutError)
})

for (const timeout of [Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 32, 30_000.5]) {
  test(`a timeout of ${timeout} ms is not over at once`, async () => {
    const respondLater: typeof fetch = async (_url, options) => {
      await setTimeout(20, undefined, { signal: options?.signal ?? undefined })
      return Response.json({ domains: [] })
    }
    const client = new Mayfly({ url: 'http://mail.test', fetch: respondLater })
    expect(await client.domains({ timeout })).toStrictEqual({ domains: [] })
  })
}

test('a negative timeout is over at once', async () => {
  const neverRespond: typeof fetch = async (_url, options) => {
    await once(options?.signal ?? new EventTarget(), 'abort')
    throw options?.signal?.reason
  }
  const client = new Mayfly({ url: 'http://mail.test', fetch: neverRespond })
  expect(await caught(client.domains({ timeout: -1 }))).toBeInstanceOf(MayflyTimeoutError)
})

test('ids stay within their part of the path', async () => {
  const asked: string[] = []
  const client = new Mayfly({
    url: 'http://mail.test',
    apiKey: 'mf_live_key',
    fetch: async (url) => {
      asked.push(new URL(String(url)).pathname)
      return Response.json({ webhook: {} })
    },
  })
  const emailOf = (id: string) => ({ id: id as unknown as number, address: 'a@mail.test' })
  for (const id of ['', '.', '..']) {
    expect(codeOf(await caught(client.webhooks.test(id)))).toBe('invalid_parameter')
    expect(codeOf(await caught(client.rawEmail(emailOf(id))))).toBe('invalid_parameter')
  }
  await client.webhooks.read('../x')
  await client.emailAttachment(emailOf('a/b?c'), 1)
  expect(asked).toStrictEqual(['/webhooks/..%2Fx', '/emails/a%2Fb%3Fc/attachments/1'])
})

test('a redirect is not followed: it would take the token along', async () => {
  const asked: string[] = []
  const server = createServer(({ url = '' }, response) => {
    asked.push(url)
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const opened = new Mayfly({ url: `http://127.0.0.1:${port}` }).openMailbox('token')
  expect(codeOf(await caught(opened))).toBe('network')
  expect(asked).toStrictEqual(['/api/check-mail?limit=1'])
})

describe('verifyWebhook', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const body = JSON.stringify({ type: 'message.received', data: { id: 1, subject: 'Grüße' } })
  const signed = (signer = new Webhook(secret), time = new Date()) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(time.getTime() / 1_000)),
    'webhook-signature': signer.sign('msg_1', time, body),
  })
  const other = new Webhook(`whsec_${Buffer.alloc(32, 8).toString('base64')}`)

  test('returns the event of a valid request, from text or bytes', async () => {
    const expected = JSON.parse(body)
    const headers = signed()
    expect(await verifyWebhook({ body, headers, secret })).toStrictEqual(expected)
    const bytes = new TextEncoder().encode(body)
    const fetched = new Headers(headers)
    expect(await verifyWebhook({ body: bytes, headers: fetched, secret })).toStrictEqual(expected)
    const both = `${signed(other)['webhook-signature']} ${headers['webhook-signature']}`
    const rolled = { ...headers, 'webhook-signature': both }
    expect(await verifyWebhook({ body, headers: rolled, secret })).toStrictEqual(expected)
  })

  const hour = 3_600_000
  for (const [name, request] of [
    ['another secret', { headers: signed(other) }],
    ['another body', { body: `${body} ` }],
    ['another id', { headers: { ...signed(), 'webhook-id': 'msg_2' } }],
    ['an old timestamp', { headers: signed(undefined, new Date(Date.now() - hour)) }],
    ['a future timestamp', { headers: signed(undefined, new Date(Date.now() + hour)) }],
    ['no headers', { headers: {} }],
    ['no secret', { secret: '' }],
    ['a signature that is not base64', { headers: { ...signed(), 'webhook-signature': 'v1,*' } }],
    [
      'a version that is not known',
      {
        headers: {
          ...signed(),
          'webhook-signature': signed()['webhook-signature'].replace('v1', 'v2'),
        },
      },
    ],
  ] as const) {
    test(`refuses ${name}`, async () => {
      const error = await caught(verifyWebhook({ body, headers: signed(), secret, ...request }))
      expect(codeOf(error)).toBe('invalid_signature')
    })
  }
})
