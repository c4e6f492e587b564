import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'vitest'
import { post, problemFault, request, requestFrom } from '../../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/support/http-server.ts'
import type { Address } from '../../core/address.ts'
import { EMPTY_MAIL } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { OPERATOR } from '../../core/session.ts'

const servers: TestServer[] = []
const open = async (options: Parameters<typeof openTestServer>[0] = {}) => {
  const door = await openTestServer(options)
  servers.push(door)
  return door
}
afterEach(async () => {
  for (const door of servers.splice(0)) await door.stop()
})

const session = async (door: TestServer) =>
  (await post(`${door.url}/api/create-session`, {})).body as { email: string; token: string }

const mail = { ...EMPTY_MAIL, text: 'hello' }

/** Sends a mail and reads it. */
async function textOfMail(door: TestServer): Promise<unknown> {
  const { email, token } = await session(door)
  await door.mail(email)
  const { body } = await request(`${door.url}/api/check-mail?token=${token}`)
  const [{ id } = { id: 0 }] = body['messages'] as { id: number }[]
  const read = await request(`${door.url}/api/read-mail?token=${token}&id=${id}`)
  return (read.body['message'] as { body_text: unknown }).body_text
}

describe('500', () => {
  test('a fault of ours tells the caller nothing and the log everything but the token', async () => {
    const listDomains = () => Promise.reject(new Error('no such table: mail_domain'))
    const door = await open({ storeOverrides: { listDomains } })
    const asked = await request(`${door.url}/api/domains?token=canary`, {
      headers: { authorization: 'Bearer canary' },
    })
    assert.deepEqual([asked.status, asked.body['code']], [500, 'internal'])
    assert.equal(problemFault(asked), undefined)
    assert.doesNotMatch(asked.text, /table|mail_domain|Error|\.ts/)
    const [line] = door.logged
    assert.equal(line?.level, 'error')
    assert.equal(line?.facts['requestId'], asked.body['request_id'])
    assert.equal(line?.facts['path'], '/api/domains')
    assert.match(String(line?.facts['err']), /no such table/)
    assert.doesNotMatch(JSON.stringify(door.logged), /canary/)
  })

  test('what is no Error is logged all the same', async () => {
    const listDomains = () => Promise.reject('only words')
    const door = await open({ storeOverrides: { listDomains } })
    assert.equal((await request(`${door.url}/api/domains`)).status, 500)
    assert.match(String(door.logged[0]?.facts['err']), /only words/)
  })

  test('a refusal is no fault: it is not logged', async () => {
    const door = await open()
    await request(`${door.url}/api/check-mail?token=x`)
    await request(`${door.url}/nothing`)
    assert.deepEqual(door.logged, [])
  })
})

describe('503', () => {
  test('a store without space refuses, with Retry-After', async () => {
    const createSession = () => Promise.reject(new Problem('overloaded', 'No space is left.', 30))
    const door = await open({ storeOverrides: { createSession } })
    const asked = await post(`${door.url}/api/create-session`, {})
    assert.deepEqual([asked.status, asked.headers.get('retry-after')], [503, '30'])
    assert.equal(problemFault(asked), undefined)
    assert.deepEqual(door.logged, [])
  })

  test('a mail is readable when its parse cannot be kept for want of space', async () => {
    const saveParsed = () => Promise.reject(new Problem('overloaded', 'No space is left.'))
    const door = await open({ storeOverrides: { saveParsed }, parse: async () => mail })
    assert.equal(await textOfMail(door), 'hello')
  })
})

describe('200', () => {
  test('of a mail that could not be parsed the reader hears all that is said', async () => {
    const text = 'It could not be parsed. It is kept as it came.'
    const parse = async () => ({ ...mail, fault: 'It could not be parsed.', text })
    assert.equal(await textOfMail(await open({ parse })), text)
  })
})

describe('draining', () => {
  test('readiness turns, who waits is sent home, and all else is answered as ever', async () => {
    const door = await open()
    const { email, token } = await session(door)
    const check = (more = '') => request(`${door.url}/api/check-mail?token=${token}${more}`)
    const waiting = check('&wait=55')
    const stream = await fetch(`${door.url}/api/events?token=${token}`)
    assert.equal((await request(`${door.url}/readyz`)).headers.get('connection'), 'keep-alive')
    door.drain()

    const ready = await request(`${door.url}/readyz`)
    assert.deepEqual([ready.status, ready.body['code']], [503, 'shutting_down'])
    assert.match(String(ready.body['message']), /is shutting down/)
    assert.equal((await request(`${door.url}/livez`)).status, 200)
    assert.match(await stream.text(), GOODBYE)
    for (const asked of [await waiting, await check('&wait=55')]) {
      assert.deepEqual([asked.status, asked.body['code']], [503, 'shutting_down'])
      assert.equal(problemFault(asked), undefined)
    }
    assert.equal((await post(`${door.url}/api/create-session`, {})).status, 200)
    await door.mail(email)
    assert.equal(((await check('&wait=55')).body['messages'] as unknown[]).length, 1)
  })

  test('every answer ends its connection', async () => {
    const door = await open()
    door.drain()
    for (const [path, method] of [
      ['/livez', 'GET'],
      ['/api/domains', 'OPTIONS'],
      ['/api/check-mail', 'GET'],
      ['/nothing', 'GET'],
      ['/', 'GET'],
    ] as const) {
      const { headers } = await request(`${door.url}${path}`, { method })
      assert.equal(headers.get('connection'), 'close', path)
    }
  })

  test('attachment, raw-mail and a first read-mail are served while draining, also of large mails', async () => {
    const head = 'Subject: large\r\n\r\n'
    const file = 'x'.repeat(300_000)
    const note = { index: 0, filename: 'x.txt', contentType: 'text/plain', contentId: null }
    const parse = async (raw: Uint8Array) => {
      const position = { start: raw.length - file.length, end: raw.length, encoding: '7bit' }
      return { ...mail, attachments: [{ ...note, size: file.length, inline: false, position }] }
    }
    const door = await open({ parse })
    const { email, token } = await session(door)
    await door.mail(email, head + file)
    await door.mail(email)
    // By the store: check-mail would have them parsed.
    const box = (await door.store.findRecipient(email as Address)).session?.id ?? OPERATOR
    const ids = (await door.store.listMessages(box, { sinceId: 0, limit: 2 })).map(({ id }) => id)
    const large = Math.min(...ids)
    door.drain()

    const get = (path: string, id: number) =>
      request(`${door.url}/api/${path}?token=${token}&id=${id}`)
    for (const id of ids) {
      const { status, body } = await get('read-mail', id)
      assert.equal(status, 200)
      assert.equal((body['message'] as { body_text: unknown }).body_text, 'hello')
    }
    assert.ok((await get('raw-mail', large)).text.endsWith(head + file))
    const attachment = await request(
      `${door.url}/api/attachment?token=${token}&id=${large}&index=0`,
    )
    assert.ok(attachment.text === file, `${attachment.status}`)
  })

  test('a stream that is begun tells what was missed, and when to come back', async () => {
    const door = await open()
    const { email, token } = await session(door)
    door.drain()
    await door.mail(email)
    const stream = await request(`${door.url}/api/events?token=${token}&since_id=0`)
    assert.equal(stream.status, 200)
    assert.match(stream.text, /^event: message$/m)
    assert.match(stream.text, GOODBYE)
  })
})

// Not a refusal: a browser that is refused does not come back by itself.
const GOODBYE = /\n\n: shutting_down\nretry: \d{4}\n\n$/

describe('closing', () => {
  test('who waits is sent home with 503, streams end in order, and the port is free', async () => {
    const door = await open()
    const { token } = await session(door)
    const waiting = request(`${door.url}/api/check-mail?wait=55&token=${token}`)
    const stream = await fetch(`${door.url}/api/events?token=${token}`)
    assert.equal((await request(`${door.url}/livez`)).status, 200)

    const closed = door.close()
    const asked = await waiting
    assert.deepEqual([asked.status, asked.body['code']], [503, 'shutting_down'])
    assert.equal(problemFault(asked), undefined)
    assert.match(await stream.text(), /^retry: \d+\nid: 0\n\n: shutting_down\nretry: \d+\n\n$/)
    await closed
    await assert.rejects(fetch(`${door.url}/livez`))
  })

  test('a request under way is finished, and its connection told to close', async () => {
    let started: (() => void) | undefined
    let finish: (() => void) | undefined
    const begun = new Promise<void>((resolve) => {
      started = resolve
    })
    const held = new Promise<void>((resolve) => {
      finish = resolve
    })
    const obstacle = async () => {
      started?.()
      await held
      return undefined
    }
    const door = await open({ storeOverrides: { obstacle } })
    const asking = request(`${door.url}/readyz`)
    await begun
    const closed = door.close()
    finish?.()
    const asked = await asking
    assert.deepEqual([asked.status, asked.headers.get('connection')], [200, 'close'])
    await closed
  })
})

describe('rates', () => {
  test('the switch lifts them', async () => {
    const env = { MAYFLY_RATE_LIMITS: 'off', MAYFLY_TRUST_PROXY: '127.0.0.1' }
    const door = await open({ env })
    const asked = await Promise.all(
      Array.from({ length: 70 }, () => post(`${door.url}/api/create-session`, {})),
    )
    assert.ok(asked.every(({ status }) => status === 200))
  })

  test('loopback is counted when it is a proxy, also for itself', async () => {
    const door = await open({ env: { MAYFLY_TRUST_PROXY: '127.0.0.0/8' } })
    const asked = await Promise.all(
      Array.from({ length: 70 }, () => post(`${door.url}/api/create-session`, {})),
    )
    assert.ok(asked.some(({ status }) => status === 429))
  })
})

describe('a proxy on this machine that is not trusted', () => {
  test('is one client, whomever it speaks for, and the log says once which setting is missing', async () => {
    const door = await open()
    const forwarded = (client: number) =>
      request(`${door.url}/api/create-session`, {
        method: 'POST',
        headers:
          client % 2 === 0
            ? { 'x-forwarded-for': `198.51.100.${client}` }
            : { forwarded: `for=198.51.100.${client}` },
      })
    const asked = await Promise.all(Array.from({ length: 70 }, (_, client) => forwarded(client)))
    const passed = asked.filter(({ status }) => status === 200)
    assert.ok(passed.length >= 60 && passed.length < 70, `${passed.length} passed`)
    assert.equal((await post(`${door.url}/api/create-session`, {})).status, 200, 'not forwarded')
    const warnings = door.logged.filter(({ level }) => level === 'warn')
    assert.deepEqual(
      warnings.map(({ facts }) => facts['setting']),
      ['MAYFLY_TRUST_PROXY=127.0.0.1'],
    )
  })

  test('whoever is not forwarded is not warned about', async () => {
    const door = await open()
    await request(`${door.url}/api/domains`)
    assert.deepEqual(door.logged, [])
  })
})

test('a path whose parameter cannot be read is no path of ours', async () => {
  const door = await open()
  for (const id of ['%zz', '%ff', 'x'.repeat(101)]) {
    const asked = await requestFrom(door.port, '127.0.0.1', { path: `/api/orders/${id}` })
    assert.deepEqual([asked.status, asked.body['code']], [404, 'not_found'], id)
    assert.equal(problemFault(asked), undefined)
  }
})
