import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WITHOUT_POLLING } from '../../../test/kit/app/app.ts'
import { emailsOf } from '../../../test/kit/http/api-client.ts'
import { request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { waitForWaits } from '../../../test/kit/http/waiting-requests.ts'
import { keyRing, type TestKey } from '../../../test/kit/shop/keys.ts'
import { parseMail } from '../../mime/parse.ts'

let server: TestServer
let key: TestKey
beforeAll(async () => {
  server = await openTestServer({
    parse: async (raw) => parseMail(raw),
    intervals: WITHOUT_POLLING,
  })
  key = await keyRing(server.shop, server.now).issue({ requests: 10_000 })
})
afterAll(() => server.stop())

/** The address of a new session of the key. */
async function newAddress(): Promise<string> {
  const options = { method: 'POST', headers: key.headers }
  const { body } = await request(`${server.url}/api/create-session`, options)
  return String(body['email'])
}

const mailOf = (from: string, subject: string) =>
  `From: Sender <${from}>\r\nSubject: ${subject}\r\n\r\nhello\r\n`

/** An address with three mails. */
async function addressWithMail(): Promise<string> {
  const email = await newAddress()
  await server.mail(email, mailOf('ann@shop.test', 'One'))
  await server.mail(email, mailOf('bob@mail.shop.test', 'Two'))
  await server.mail(email, mailOf('eve@other.test', 'Three'))
  return email
}

const readEmails = (query: Record<string, string>, headers: Record<string, string> = {}) =>
  request(`${server.url}/emails?${new URLSearchParams(query)}`, {
    headers: { ...key.headers, ...headers },
  })

describe('200', () => {
  test('from and subject select records, and a page links to the next one with them', async () => {
    const email = await addressWithMail()
    const all = await readEmails({ to: email, from: 'shop.test' })
    expect(emailsOf(all).map(({ subject }) => subject)).toStrictEqual(['Two', 'One'])
    expect(all.headers.get('etag')).toBe(null)
    const first = await readEmails({ to: email, from: 'shop.test', subject: 'O', limit: '1' })
    const [, next = ''] = /<(.*)>/.exec(first.headers.get('link') ?? '') ?? []
    expect(next).toMatch(/from=shop\.test&subject=O/)
    const second = await request(`${server.url}${next}`, { headers: key.headers })
    expect(
      [first, second].map((page) => emailsOf(page).map(({ subject }) => subject)),
    ).toStrictEqual([['Two'], ['One']])
    expect(second.headers.get('link')).toBe(null)
  })

  test('a filtered page is charged, also with If-None-Match', async () => {
    const email = await addressWithMail()
    const etag = (await readEmails({ to: email })).headers.get('etag') ?? ''
    const remaining = (response: Awaited<ReturnType<typeof readEmails>>) =>
      Number(response.headers.get('x-ratelimit-remaining'))
    const free = await readEmails({ to: email }, { 'if-none-match': etag })
    const charged = await readEmails({ to: email, from: 'x.test' }, { 'if-none-match': etag })
    expect([free.status, charged.status]).toStrictEqual([304, 200])
    expect(charged.text).toBe(`[{"address":"${email}","emails":[]}]`)
    expect(remaining(charged)).toBe(remaining(free) - 1)
  })

  test('only a matching mail ends a wait', async () => {
    const email = await newAddress()
    const waiting = readEmails({ to: email, subject: 'wanted', wait: '55' })
    await waitForWaits(1)
    for (let sent = 0; sent < 20; sent += 1) {
      await server.mail(email, mailOf('eve@other.test', `No ${sent}`))
    }
    await server.mail(email, mailOf('eve@other.test', 'WANTED'))
    expect(emailsOf(await waiting).map(({ subject }) => subject)).toStrictEqual(['WANTED'])
  })
  test('a wait without a match is charged once and says X-Timed-Out', async () => {
    const email = await addressWithMail()
    const before = await used()
    const response = await readEmails({ to: email, from: 'nobody.test', wait: '1' })
    expect(response.status).toBe(200)
    expect(response.text).toBe(`[{"address":"${email}","emails":[]}]`)
    expect(['x-timed-out', 'link', 'etag'].map((name) => response.headers.get(name))).toStrictEqual(
      ['1', null, null],
    )
    expect((await used()) - before).toBe(1)
  })

  test('a wait that examined only a part links to the rest', async () => {
    const old = await newAddress()
    await server.mail(old, mailOf('ann@shop.test', 'in the rest'))
    // More than are examined, in sessions that hold up to 1,000.
    for (let sessions = 0; sessions < 6; sessions += 1) {
      const email = await newAddress()
      const mails = Array.from({ length: 900 }, () =>
        server.mail(email, mailOf('eve@x.test', 'no')),
      )
      const outcomes = (await Promise.all(mails)).map(({ outcome }) => outcome)
      expect(new Set(outcomes)).toStrictEqual(new Set(['stored']))
    }
    const response = await readEmails({ subject: 'in the rest', wait: '1' })
    expect([response.headers.get('x-timed-out'), emailsOf(response)]).toStrictEqual(['1', []])
    const [, next = ''] = /<(.*)>/.exec(response.headers.get('link') ?? '') ?? []
    const rest = await request(`${server.url}${next}`, { headers: key.headers })
    expect(emailsOf(rest).map(({ subject }) => subject)).toStrictEqual(['in the rest'])

    const search = await readEmails({ q: 'in the rest' })
    expect(emailsOf(search)).toStrictEqual([])
    const [, onward = ''] = /<(.*)>/.exec(search.headers.get('link') ?? '') ?? []
    expect(new URLSearchParams(onward.split('?')[1]).get('q')).toBe('in the rest')
    const others = await request(`${server.url}${onward}`, { headers: key.headers })
    expect(emailsOf(others).map(({ subject }) => subject)).toStrictEqual(['in the rest'])
  })

  for (const [query, expected] of [
    [{ q: 'HELLO' }, ['Three', 'Two', 'One']],
    [{ q: 'sender' }, ['Three', 'Two', 'One']],
    [{ q: 'shop.test' }, ['Two', 'One']],
    [{ q: 'thre' }, ['Three']],
    [{ q: 'hello', from: 'shop.test', subject: 'o' }, ['Two', 'One']],
    [{ q: 'nowhere' }, []],
  ] as const) {
    test(`${JSON.stringify(query)} finds ${expected.join(', ') || 'nothing'}`, async () => {
      const email = await addressWithMail()
      const before = await used()
      const response = await readEmails({ to: email, ...query })
      expect(emailsOf(response).map(({ subject }) => subject)).toStrictEqual(expected)
      expect(['etag', 'x-incomplete'].map((name) => response.headers.get(name))).toStrictEqual([
        null,
        null,
      ])
      expect((await used()) - before).toBe(1)
    })
  }

  test('a search of texts that are too long says X-Incomplete', async () => {
    const email = await newAddress()
    const text = `first\r\n${'hay hay hay\r\n'.repeat(10_000)}last\r\n`
    await server.mail(email, `Subject: x\r\n\r\n${text}`)
    const found = async (q: string) => {
      const response = await readEmails({ to: email, q })
      return [emailsOf(response).length, response.headers.get('x-incomplete')]
    }
    expect(await found('first')).toStrictEqual([1, null])
    expect(await found('last')).toStrictEqual([0, '1'])
  })

  test('a client that hangs up during a wait is not charged', async () => {
    const email = await newAddress()
    const before = await used()
    const left = new AbortController()
    const waiting = fetch(`${server.url}/emails?to=${email}&subject=x&wait=55`, {
      headers: key.headers,
      signal: left.signal,
    })
    await waitForWaits(1)
    left.abort()
    await expect(waiting).rejects.toThrow()
    await waitForWaits(0)
    await server.mail(email, mailOf('eve@other.test', 'x'))
    expect((await used()) - before).toBe(0)
  })
})

/** The requests that the key was charged. */
async function used(): Promise<number> {
  const { body } = await request(`${server.url}/usage`, { headers: key.headers })
  return Number(body['used'])
}
