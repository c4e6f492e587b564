import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'vitest'
import { post, problemFault, request, requestFrom } from '../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../test/support/http-server.ts'
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
    assert.deepEqual([response.status, response.body['code']], [500, 'internal'])
    assert.equal(problemFault(response), undefined)
    assert.doesNotMatch(response.text, /table|mail_domain|Error|\.ts/)
    const [line] = server.logged
    assert.equal(line?.level, 'error')
    assert.equal(line?.facts['requestId'], response.body['request_id'])
    assert.equal(line?.facts['path'], '/api/domains')
    assert.match(String(line?.facts['err']), /no such table/)
    assert.doesNotMatch(JSON.stringify(server.logged), /canary/)
  })

  test('a thrown value that is not an Error is logged', async () => {
    const listDomains = () => Promise.reject('only words')
    const server = await open({ storeOverrides: { listDomains } })
    assert.equal((await request(`${server.url}/api/domains`)).status, 500)
    assert.match(String(server.logged[0]?.facts['err']), /only words/)
  })

  test('a refused request is not logged', async () => {
    const server = await open()
    await request(`${server.url}/api/check-mail?token=x`)
    await request(`${server.url}/nothing`)
    assert.deepEqual(server.logged, [])
  })
})

describe('503', () => {
  test('a full store is reported with Retry-After', async () => {
    const createSession = () => Promise.reject(new Problem('overloaded', 'No space is left.', 30))
    const server = await open({ storeOverrides: { createSession } })
    const response = await post(`${server.url}/api/create-session`, {})
    assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '30'])
    assert.equal(problemFault(response), undefined)
    assert.deepEqual(server.logged, [])
  })

  test('a mail can be read even if its parsed form cannot be stored', async () => {
    const saveParsed = () => Promise.reject(new Problem('overloaded', 'No space is left.'))
    const server = await open({ storeOverrides: { saveParsed }, parse: async () => mail })
    assert.equal(await textOfMail(server), 'hello')
  })
})

describe('200', () => {
  test('a mail that could not be parsed has the explanation as its text', async () => {
    const text = 'It could not be parsed. It is kept as it came.'
    const parse = async () => ({ ...mail, fault: 'It could not be parsed.', text })
    assert.equal(await textOfMail(await open({ parse })), text)
  })
})

describe('draining', () => {
  test('readiness fails, pending waits are answered, and other requests are served', async () => {
    const server = await open()
    const { email, token } = await session(server)
    const check = (more = '') => request(`${server.url}/api/check-mail?token=${token}${more}`)
    const waiting = check('&wait=55')
    const stream = await fetch(`${server.url}/api/events?token=${token}`)
    assert.equal((await request(`${server.url}/readyz`)).headers.get('connection'), 'keep-alive')
    server.drain()

    const ready = await request(`${server.url}/readyz`)
    assert.deepEqual([ready.status, ready.body['code']], [503, 'shutting_down'])
    assert.match(String(ready.body['message']), /is shutting down/)
    assert.equal((await request(`${server.url}/livez`)).status, 200)
    assert.match(await stream.text(), STREAM_END)
    for (const response of [await waiting, await check('&wait=55')]) {
      assert.deepEqual([response.status, response.body['code']], [503, 'shutting_down'])
      assert.equal(problemFault(response), undefined)
    }
    assert.equal((await post(`${server.url}/api/create-session`, {})).status, 200)
    await server.mail(email)
    assert.equal(((await check('&wait=55')).body['messages'] as unknown[]).length, 1)
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
      assert.equal(headers.get('connection'), 'close', path)
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
      assert.equal(status, 200)
      assert.equal((body['message'] as { body_text: unknown }).body_text, 'hello')
    }
    assert.ok((await get('raw-mail', large)).text.endsWith(head + file))
    const attachment = await request(
      `${server.url}/api/attachment?token=${token}&id=${large}&index=0`,
    )
    assert.ok(attachment.text === file, `${attachment.status}`)
  })

  test('a new stream sends missed messages and a retry delay, and ends', async () => {
    const server = await open()
    const { email, token } = await session(server)
    server.drain()
    await server.mail(email)
    const stream = await request(`${server.url}/api/events?token=${token}&since_id=0`)
    assert.equal(stream.status, 200)
    assert.match(stream.text, /^event: message$/m)
    assert.match(stream.text, STREAM_END)
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
    assert.equal((await request(`${server.url}/livez`)).status, 200)

    const closed = server.close()
    const response = await waiting
    assert.deepEqual([response.status, response.body['code']], [503, 'shutting_down'])
    assert.equal(problemFault(response), undefined)
    assert.match(await stream.text(), /^retry: \d+\nid: 0\n\n: shutting_down\nretry: \d+\n\n$/)
    await closed
    await assert.rejects(fetch(`${server.url}/livez`))
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
    assert.deepEqual([response.status, response.headers.get('connection')], [200, 'close'])
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
    assert.ok(responses.every(({ status }) => status === 200))
  })

  test('apply to loopback if it is a trusted proxy', async () => {
    const server = await open({ env: { MAYFLY_TRUST_PROXY: '127.0.0.0/8' } })
    const responses = await Promise.all(
      Array.from({ length: 70 }, () => post(`${server.url}/api/create-session`, {})),
    )
    assert.ok(responses.some(({ status }) => status === 429))
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
    assert.ok(passed.length >= 60 && passed.length < 70, `${passed.length} passed`)
    assert.equal((await post(`${server.url}/api/create-session`, {})).status, 200, 'not forwarded')
    const warnings = server.logged.filter(({ level }) => level === 'warn')
    assert.deepEqual(
      warnings.map(({ facts }) => facts['setting']),
      ['MAYFLY_TRUST_PROXY=127.0.0.1'],
    )
  })

  test('is not assumed without forwarding headers', async () => {
    const server = await open()
    await request(`${server.url}/api/domains`)
    assert.deepEqual(server.logged, [])
  })
})

test('a path with an invalid parameter is not found', async () => {
  const server = await open()
  for (const id of ['%zz', '%ff', 'x'.repeat(101)]) {
    const response = await requestFrom(server.port, '127.0.0.1', { path: `/api/orders/${id}` })
    assert.deepEqual([response.status, response.body['code']], [404, 'not_found'], id)
    assert.equal(problemFault(response), undefined)
  }
})
