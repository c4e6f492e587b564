import { afterEach, describe, expect, test } from 'vitest'
import { post, problemFault, request, requestFrom } from '../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../test/kit/http/http-server.ts'
import type { Address } from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import { OPERATOR } from '../mail/rules/session.ts'
import { EMPTY_MAIL } from '../shared/mail.ts'

const servers: TestServer[] = []
const open = async (options: Parameters<typeof openTestServer>[0] = {}) => {
  const server = await openTestServer(options)
  servers.push(server)
  return server
}
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

const session = async (server: TestServer) =>
  (await post(`${server.url}/api/create-session`, {})).body as { email: string; token: string }

const mail = { ...EMPTY_MAIL, text: 'hello' }

/** Sends a mail and reads it. */
async function textOfMail(server: TestServer): Promise<unknown> {
  const { email, token } = await session(server)
  await server.mail(email)
  const { body } = await request(`${server.url}/api/check-mail?token=${token}`)
  const [{ id } = { id: 0 }] = body['messages'] as { id: number }[]
  const read = await request(`${server.url}/api/read-mail?token=${token}&id=${id}`)
  return (read.body['message'] as { body_text: unknown }).body_text
}

describe('500', () => {
  test('an internal error reveals nothing to the client and is logged without the token', async () => {
    const listDomains = () => Promise.reject(new Error('no such table: mail_domain'))
    const server = await open({ storeOverrides: { listDomains } })
    const response = await request(`${server.url}/api/domains?token=canary`, {
      headers: { authorization: 'Bearer canary' },
    })
    expect([response.status, response.body['code']]).toStrictEqual([500, 'internal'])
    expect(problemFault(response)).toBeUndefined()
    expect(response.text).not.toMatch(/table|mail_domain|Error|\.ts/)
    const [line] = server.logged
    expect(line?.level).toBe('error')
    expect(line?.facts['requestId']).toBe(response.body['request_id'])
    expect(line?.facts['path']).toBe('/api/domains')
    expect(String(line?.facts['err'])).toMatch(/no such table/)
    expect(JSON.stringify(server.logged)).not.toMatch(/canary/)
  })

  test('a thrown value that is not an Error is logged', async () => {
    const listDomains = () => Promise.reject('only words')
    const server = await open({ storeOverrides: { listDomains } })
    expect((await request(`${server.url}/api/domains`)).status).toBe(500)
    expect(String(server.logged[0]?.facts['err'])).toMatch(/only words/)
  })

  test('a refused request is not logged', async () => {
    const server = await open()
    await request(`${server.url}/api/check-mail?token=x`)
    await request(`${server.url}/nothing`)
    expect(server.logged).toStrictEqual([])
  })
})

describe('503', () => {
  test('a full store is reported with Retry-After', async () => {
    const createSession = () => Promise.reject(new Problem('overloaded', 'No space is left.', 30))
    const server = await open({ storeOverrides: { createSession } })
    const response = await post(`${server.url}/api/create-session`, {})
    expect([response.status, response.headers.get('retry-after')]).toStrictEqual([503, '30'])
    expect(problemFault(response)).toBeUndefined()
    expect(server.logged).toStrictEqual([])
  })

  test('a mail can be read even if its parsed form cannot be stored', async () => {
    const saveParsed = () => Promise.reject(new Problem('overloaded', 'No space is left.'))
    const server = await open({ storeOverrides: { saveParsed }, parse: async () => mail })
    expect(await textOfMail(server)).toBe('hello')
  })
})

describe('200', () => {
  test('a mail that could not be parsed has the explanation as its text', async () => {
    const text = 'It could not be parsed. It is kept as it came.'
    const parse = async () => ({ ...mail, fault: 'It could not be parsed.', text })
    expect(await textOfMail(await open({ parse }))).toBe(text)
  })
})

describe('draining', () => {
  test('readiness fails, pending waits are answered, and other requests are served', async () => {
    const server = await open()
    const { email, token } = await session(server)
    const check = (more = '') => request(`${server.url}/api/check-mail?token=${token}${more}`)
    const waiting = check('&wait=55')
    const stream = await fetch(`${server.url}/api/events?token=${token}`)
    expect((await request(`${server.url}/readyz`)).headers.get('connection')).toBe('keep-alive')
    server.drain()

    const ready = await request(`${server.url}/readyz`)
    expect([ready.status, ready.body['code']]).toStrictEqual([503, 'shutting_down'])
    expect(String(ready.body['message'])).toMatch(/is shutting down/)
    expect((await request(`${server.url}/livez`)).status).toBe(200)
    expect(await stream.text()).toMatch(STREAM_END)
    for (const response of [await waiting, await check('&wait=55')]) {
      expect([response.status, response.body['code']]).toStrictEqual([503, 'shutting_down'])
      expect(problemFault(response)).toBeUndefined()
    }
    expect((await post(`${server.url}/api/create-session`, {})).status).toBe(200)
    await server.mail(email)
    expect(((await check('&wait=55')).body['messages'] as unknown[]).length).toBe(1)
  })

  test('every response closes its connection', async () => {
    const server = await open()
    server.drain()
    for (const [path, method] of [
      ['/livez', 'GET'],
      ['/api/domains', 'OPTIONS'],
      ['/api/check-mail', 'GET'],
      ['/nothing', 'GET'],
      ['/', 'GET'],
    ] as const) {
      const { headers } = await request(`${server.url}${path}`, { method })
      expect(headers.get('connection'), path).toBe('close')
    }
  })

  test('attachment, raw-mail and a first read-mail are served while draining, even for large mails', async () => {
    const head = 'Subject: large\r\n\r\n'
    const file = 'x'.repeat(300_000)
    const metadata = { index: 0, filename: 'x.txt', contentType: 'text/plain', contentId: null }
    const parse = async (raw: Uint8Array) => {
      const position = { start: raw.length - file.length, end: raw.length, encoding: '7bit' }
      return { ...mail, attachments: [{ ...metadata, size: file.length, inline: false, position }] }
    }
    const server = await open({ parse })
    const { email, token } = await session(server)
    await server.mail(email, head + file)
    await server.mail(email)
    // Through the store, because check-mail would parse them.
    const mailbox = (await server.store.findRecipient(email as Address)).session?.id ?? OPERATOR
    const ids = (await server.store.listMessages(mailbox, { sinceId: 0, limit: 2 })).map(
      ({ id }) => id,
    )
    const large = Math.min(...ids)
    server.drain()

    const get = (path: string, id: number) =>
      request(`${server.url}/api/${path}?token=${token}&id=${id}`)
    for (const id of ids) {
      const { status, body } = await get('read-mail', id)
      expect(status).toBe(200)
      expect((body['message'] as { body_text: unknown }).body_text).toBe('hello')
    }
    expect((await get('raw-mail', large)).text.endsWith(head + file)).toBeTruthy()
    const attachment = await request(
      `${server.url}/api/attachment?token=${token}&id=${large}&index=0`,
    )
    expect(attachment.text, `${attachment.status}`).toBe(file)
  })

  test('a new stream sends missed messages and a retry delay, and ends', async () => {
    const server = await open()
    const { email, token } = await session(server)
    server.drain()
    await server.mail(email)
    const stream = await request(`${server.url}/api/events?token=${token}&since_id=0`)
    expect(stream.status).toBe(200)
    expect(stream.text).toMatch(/^event: message$/m)
    expect(stream.text).toMatch(STREAM_END)
  })
})

// Not an error status: an EventSource does not reconnect after one.
const STREAM_END = /\n\n: shutting_down\nretry: \d{4}\n\n$/

describe('closing', () => {
  test('pending waits get 503, streams end cleanly, and the port is closed', async () => {
    const server = await open()
    const { token } = await session(server)
    const waiting = request(`${server.url}/api/check-mail?wait=55&token=${token}`)
    const stream = await fetch(`${server.url}/api/events?token=${token}`)
    expect((await request(`${server.url}/livez`)).status).toBe(200)

    const closed = server.close()
    const response = await waiting
    expect([response.status, response.body['code']]).toStrictEqual([503, 'shutting_down'])
    expect(problemFault(response)).toBeUndefined()
    expect(await stream.text()).toMatch(/^retry: \d+\nid: 0\n\n: shutting_down\nretry: \d+\n\n$/)
    await closed
    await expect(fetch(`${server.url}/livez`)).rejects.toThrow()
  })

  test('a request in progress completes, and its connection is closed', async () => {
    let started: (() => void) | undefined
    let finish: (() => void) | undefined
    const handlerStarted = new Promise<void>((resolve) => {
      started = resolve
    })
    const held = new Promise<void>((resolve) => {
      finish = resolve
    })
    const storageFault = async () => {
      started?.()
      await held
      return undefined
    }
    const server = await open({ storeOverrides: { storageFault } })
    const pending = request(`${server.url}/readyz`)
    await handlerStarted
    const closed = server.close()
    finish?.()
    const response = await pending
    expect([response.status, response.headers.get('connection')]).toStrictEqual([200, 'close'])
    await closed
  })
})

describe('rate limits', () => {
  test('are disabled by MAYFLY_RATE_LIMITS=off', async () => {
    const env = { MAYFLY_RATE_LIMITS: 'off', MAYFLY_TRUST_PROXY: '127.0.0.1' }
    const server = await open({ env })
    const responses = await Promise.all(
      Array.from({ length: 70 }, () => post(`${server.url}/api/create-session`, {})),
    )
    expect(responses.every(({ status }) => status === 200)).toBeTruthy()
  })

  test('apply to loopback if it is a trusted proxy', async () => {
    const server = await open({ env: { MAYFLY_TRUST_PROXY: '127.0.0.0/8' } })
    const responses = await Promise.all(
      Array.from({ length: 70 }, () => post(`${server.url}/api/create-session`, {})),
    )
    expect(responses.some(({ status }) => status === 429)).toBeTruthy()
  })
})

describe('an untrusted local proxy', () => {
  test('is one client, and the missing setting is logged once', async () => {
    const server = await open()
    const forwarded = (client: number) =>
      request(`${server.url}/api/create-session`, {
        method: 'POST',
        headers:
          client % 2 === 0
            ? { 'x-forwarded-for': `198.51.100.${client}` }
            : { forwarded: `for=198.51.100.${client}` },
      })
    const responses = await Promise.all(
      Array.from({ length: 70 }, (_, client) => forwarded(client)),
    )
    const passed = responses.filter(({ status }) => status === 200)
    expect(passed.length >= 60 && passed.length < 70, `${passed.length} passed`).toBeTruthy()
    expect((await post(`${server.url}/api/create-session`, {})).status, 'not forwarded').toBe(200)
    const warnings = server.logged.filter(({ level }) => level === 'warn')
    expect(warnings.map(({ facts }) => facts['setting'])).toStrictEqual([
      'MAYFLY_TRUST_PROXY=127.0.0.1',
    ])
  })

  test('is not assumed without forwarding headers', async () => {
    const server = await open()
    await request(`${server.url}/api/domains`)
    expect(server.logged).toStrictEqual([])
  })
})

test('a path with an invalid parameter is not found', async () => {
  const server = await open()
  for (const id of ['%zz', '%ff', 'x'.repeat(101)]) {
    const response = await requestFrom(server.port, '127.0.0.1', { path: `/api/orders/${id}` })
    expect([response.status, response.body['code']], id).toStrictEqual([404, 'not_found'])
    expect(problemFault(response)).toBeUndefined()
  }
})
