import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emailsOf } from '../../../test/kit/http/api-client.ts'
import { problemFault, request } from '../../../test/kit/http/http-client.ts'
import { type AppWithKeys, sharedAppWithKeys, type TestKey } from '../../../test/kit/shop/keys.ts'

// What a request costs: emails-cost.service.test.ts. Whose mail a key sees: test/key-privacy.test.ts.

let app: AppWithKeys
let key: TestKey
beforeAll(async () => {
  app = await sharedAppWithKeys()
  key = await app.ring.issue()
})
afterAll(() => app.stop())

const LINKS = Array.from({ length: 12 }, (_, at) => `<a href="https://x.test/${at}">link ${at}</a>`)
const RICH = [
  'From: Ann <ann@sender.test>',
  'Subject: Rich',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/html',
  '',
  `<p>Your code is 482913.</p>${LINKS.join(' ')}`,
  '--b',
  'Content-Type: text/csv; name=a.csv',
  'Content-Disposition: attachment',
  '',
  'a,b',
  '--b',
  'Content-Type: image/svg+xml; name=b.svg',
  'Content-Disposition: attachment',
  '',
  '<svg/>',
  '--b--',
  '',
].join('\r\n')

/** Sends a mail to a new session of the key; returns its address, token and id, and how to read it. */
async function sendMail(raw = RICH) {
  const { email, token } = await app.session({}, key.headers)
  expect(await app.mail(email, raw)).toBe(250)
  const list = await request(`${app.url}/emails?to=${email}`, { headers: key.headers })
  const [record] = emailsOf(list)
  expect.assert(record)
  const { id } = record
  const read = (part = '', headers: Record<string, string> = {}) =>
    request(`${app.url}/emails/${id}${part}`, { headers: { ...key.headers, ...headers } })
  return { email, token, id, record, read }
}

describe('200', () => {
  test('a whole message has the fields of its record, and those of read-mail', async () => {
    const { email, token, id, record, read } = await sendMail()
    const response = await read()
    expect(response.status, response.text).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
    const { body } = await request(`${app.url}/api/read-mail?token=${token}&id=${id}`)
    const message = body['message'] as Record<string, unknown>
    const ofBoth = ['body_html', 'codes', 'links', 'auth', 'size'].map((name) => [
      name,
      message[name],
    ])
    expect(response.body).toStrictEqual({
      status: 'success',
      email: {
        ...record,
        ...Object.fromEntries(ofBoth),
        address: email,
        attachments: [
          { index: 0, filename: 'a.csv', content_type: 'text/csv', size: 3 },
          { index: 1, filename: 'b.svg', content_type: 'image/svg+xml', size: 6 },
        ],
      },
    })
    expect(record.links.length).toBe(10)
    expect((message['links'] as unknown[]).length).toBe(12)
  })

  test('a long text is complete', async () => {
    const text = 'ü'.repeat(200_000)
    const type = 'Content-Type: text/plain; charset=utf-8'
    const { record, read } = await sendMail(`Subject: long\r\n${type}\r\n\r\n${text}\r\n`)
    expect(record.truncated).toBe(true)
    const email = (await read()).body['email'] as { body: string; truncated?: true }
    expect([email.body, email.truncated]).toStrictEqual([`${text}\n`, undefined])
  })

  for (const [part, path] of [
    ['/raw', (id: number) => `/api/raw-mail?id=${id}`],
    ['/attachments/0', (id: number) => `/api/attachment?id=${id}&index=0`],
    ['/attachments/1', (id: number) => `/api/attachment?id=${id}&index=1`],
  ] as const) {
    test(`${part} is the same download as with a token`, async () => {
      const { id, token, read } = await sendMail()
      const withToken = await request(`${app.url}${path(id)}&token=${token}`)
      const withKey = await read(part)
      expect([withKey.status, withKey.text]).toStrictEqual([200, withToken.text])
      for (const name of [
        ...['content-type', 'content-disposition', 'content-security-policy'],
        ...['x-content-type-options', 'cache-control', 'content-length'],
      ]) {
        expect(withKey.headers.get(name), name).toBe(withToken.headers.get(name))
      }
    })
  }

  test('to may be the address of the message', async () => {
    const { email, read } = await sendMail()
    expect((await read(`?to=${encodeURIComponent(`Me <${email.toUpperCase()}>`)}`)).status).toBe(
      200,
    )
    expect((await read(`/raw?to=${email}`)).status).toBe(200)
  })
})

describe('400', () => {
  for (const path of ['x', '-1', '1.0', '9007199254740992', '1'.repeat(300), '1/attachments/x']) {
    test(`/emails/${path.slice(0, 20)} is refused`, async () => {
      const response = await request(`${app.url}/emails/${path}`, { headers: key.headers })
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
      expect(problemFault(response)).toBeUndefined()
    })
  }
})

describe('401', () => {
  test('without a key, whatever the message', async () => {
    const { id } = await sendMail()
    for (const part of ['', '/raw', '/attachments/0']) {
      const response = await request(`${app.url}/emails/${id}${part}`)
      expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_key'])
    }
  })
})

describe('404', () => {
  test('a message that was deleted, and another address', async () => {
    const { id, token, read } = await sendMail()
    expect((await read('?to=other@pool.test')).body['code']).toBe('message_not_found')
    const body = new URLSearchParams({ token, id: String(id) })
    await request(`${app.url}/api/delete-mail`, { method: 'POST', body })
    for (const part of ['', '/raw', '/attachments/0']) {
      const response = await read(part)
      expect([response.status, response.body['code']]).toStrictEqual([404, 'message_not_found'])
      expect(problemFault(response)).toBeUndefined()
    }
  })
})
