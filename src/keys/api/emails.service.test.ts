import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Email,
  type EmailsElement,
  emailsElements,
  emailsOf,
} from '../../../test/kit/http/api-client.ts'
import { problemFault, request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from '../../../test/kit/shop/keys.ts'

let app: AppWithKeys
let key: TestKey
beforeAll(async () => {
  app = await startAppWithKeys({ env: PROXY_ENV })
  key = await app.ring.issue({ requests: 100_000 })
})
afterAll(() => app.stop())

const read = (query = '', headers: Record<string, string> = key.headers, method = 'GET') =>
  request(`${app.url}/emails${query}`, { method, headers })
const to = (address: string) => `?to=${encodeURIComponent(address)}`
const emails = async (query: string): Promise<Email[]> => emailsOf(await read(query))
const subjects = async (query: string) => (await emails(query)).map(({ subject }) => subject)

let nameCount = 0
/** A pool address that has received no mail yet. */
const newAddress = () => {
  nameCount += 1
  return `name${nameCount}@pool.test`
}
const send = async (address: string | string[], subject: string, more = '') => {
  const raw = `From: Ann <ann@sender.test>\r\nSubject: ${subject}\r\n${more}\r\ntext of ${subject}\r\n`
  expect(await app.mail(address, raw)).toBe(250)
}

describe('200', () => {
  test('an empty result is one element with an empty list, and the address if one was given', async () => {
    const address = newAddress()
    const response = await read(to(`Ann <${address.toUpperCase()}>`))
    expect(response.status).toBe(200)
    expect(response.text).toBe(`[{"address":"${address}","emails":[]}]`)
    expect((await read('?since_id=9007199254740991')).text).toBe('[{"emails":[]}]')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('etag') ?? '').toMatch(/^W\/"[A-Za-z0-9_-]{22}"$/)
    expect(response.headers.get('link')).toBe(null)
  })

  test('a record has the documented fields, its id and the time in ISO 8601', async () => {
    const address = newAddress()
    await send(
      address,
      'Hello',
      `To: "You, there" <${address.toUpperCase()}>\r\nDate: 1 Jan 1999\r\n`,
    )
    const [element] = emailsElements(await read(to(address)))
    expect(element?.address).toBe(address)
    const [email] = element?.emails ?? []
    expect.assert(email)
    const { id, date, date_iso: iso, ...rest } = email
    expect(rest).toStrictEqual({
      from: 'ann@sender.test',
      to: `"You, there" <${address.toUpperCase()}>`,
      subject: 'Hello',
      body: 'text of Hello\n',
      code: null,
      links: [],
      attachments: 0,
      has_html: false,
    })
    expect(Number.isSafeInteger(id)).toBeTruthy()
    expect(date).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    expect(iso).toBe(`${date.replace(' ', 'T')}Z`)
    expect(Math.abs(Date.parse(iso) - app.now().getTime())).toBeLessThan(30_000)
  })

  test('mail is grouped by recipient in order of appearance, newest first', async () => {
    const { headers } = await app.ring.issue()
    const [ann, bob] = [newAddress(), newAddress()]
    const since = (await emails('?limit=1'))[0]?.id ?? 0
    await send(ann, '1')
    await send(bob, '2')
    await send([ann, bob], '3')
    await send(ann, '4')
    const list = emailsElements(await read(`?since_id=${since}`, headers))
    const subjectsByAddress = (all: EmailsElement[]) =>
      all.map((one) => [one.address, ...one.emails.map((e) => e.subject)])
    expect(subjectsByAddress(list).map(([address]) => address)).toStrictEqual([ann, bob])
    expect(subjectsByAddress(list)).toStrictEqual([
      [ann, '4', '3', '1'],
      [bob, '3', '2'],
    ])
  })

  test('a record has the code, at most ten links, and how many attachments there are', async () => {
    const address = newAddress()
    const links = Array.from({ length: 12 }, (_, at) => `<a href="https://x.test/${at}">${at}</a>`)
    const html = `<p>Your code is 482913.</p><a href="https://x.test/verify">Verify</a>${links.join(' ')}`
    const part = (...lines: string[]) => ['--b', ...lines].join('\r\n')
    const raw = [
      'From: ann@sender.test\r\nSubject: Rich\r\nMIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b\r\n',
      part('Content-Type: text/html', '', html),
      part('Content-Type: text/csv; name=a.csv', 'Content-Disposition: attachment', '', 'a,b'),
      '--b--\r\n',
    ].join('\r\n')
    expect(await app.mail(address, raw)).toBe(250)
    const [email] = await emails(to(address))
    expect(email).toMatchObject({ code: '482913', attachments: 1, has_html: true })
    expect(email?.links.length).toBe(10)
    expect(email?.links[0]).toStrictEqual({
      url: 'https://x.test/verify',
      text: 'Verify',
      host: 'x.test',
      kind: 'verify',
    })
  })

  test('HTML is converted to text, and malformed mail is listed', async () => {
    const address = newAddress()
    await send(address, 'html', 'Content-Type: text/html\r\n')
    await app.mail(address, '\0\xff not a mail at all')
    const [malformed, html] = await emails(to(address))
    expect(html?.body.trim()).toBe('text of html')
    expect(malformed?.subject).toBe('')
    expect(typeof malformed?.body).toBe('string')
  })

  test('a body of more than 256 KB is truncated at a character boundary and marked', async () => {
    const address = newAddress()
    const type = 'Content-Type: text/plain; charset=utf-8\r\n'
    await app.mail(address, `Subject: long\r\n${type}\r\n${'ü'.repeat(200_000)}\r\n`)
    const [long] = await emails(to(address))
    expect(long?.truncated).toBe(true)
    expect(long?.body).toBe('ü'.repeat(128 * 1024))
  })

  for (const [name, spelling] of [
    ['any case', (address: string) => address.toUpperCase()],
    ['a display name', (address: string) => `"Lee, Ann" <${address}>`],
    ['surrounding spaces', (address: string) => ` ${address} `],
    ['an ideographic full stop in its domain', (address: string) => address.replace('.', '\u3002')],
  ] as const) {
    test(`to matches with ${name}`, async () => {
      const address = newAddress()
      await send(address, 'found')
      expect(await subjects(to(spelling(address)))).toStrictEqual(['found'])
    })
  }

  test('the Link header leads through all pages, with limit and since_id', async () => {
    const address = newAddress()
    for (const subject of ['1', '2', '3', '4', '5']) await send(address, subject)
    const all = await emails(to(address))
    const seen: string[] = []
    let query = `${to(address)}&limit=2&since_id=${all.at(-1)?.id}&t=1`
    for (let pages = 0; query !== ''; pages += 1) {
      expect(pages).toBeLessThan(3)
      const response = await read(query)
      seen.push(...emailsOf(response).map(({ subject }) => subject))
      const link = response.headers.get('link')
      expect(link ?? '').not.toMatch(new RegExp(`${key.secret}|mf_`))
      const [, next = ''] = /^<\/emails(\?[^>]+)>; rel="next"$/.exec(link ?? '') ?? []
      if (next) expect(new URLSearchParams(next).get('to')).toBe(address)
      query = next
    }
    expect(seen).toStrictEqual(['5', '4', '3', '2'])
  })

  test('mail that arrives during paging does not shift the pages', async () => {
    const address = newAddress()
    for (const subject of ['1', '2', '3']) await send(address, subject)
    const link = (await read(`${to(address)}&limit=2`)).headers.get('link') ?? ''
    await send(address, '4')
    expect(await subjects(link.slice('</emails'.length, link.indexOf('>')))).toStrictEqual(['1'])
  })

  test('a cached list is not returned after a change', async () => {
    const address = newAddress()
    for (let count = 0; count < 3; count += 1) {
      expect((await emails(to(address))).length).toBe(count)
      expect((await emails(to(address))).length).toBe(count)
      await send(address, 'more')
    }
  })

  test('cached lists are separate per key, address and page', async () => {
    const other = await app.ring.issue()
    const own = await app.session({ prefix: 'kept', domain_id: '1' }, key.headers)
    await send(own.email, 'own')
    expect(await subjects(to(own.email))).toStrictEqual(['own'])
    expect(emailsOf(await read(to(own.email), other.headers))).toStrictEqual([])
    expect(await subjects(`${to(own.email)}&since_id=9007199254740991`)).toStrictEqual([])
  })

  test('reading neither marks nor deletes mail', async () => {
    const address = newAddress()
    await send(address, 'stays')
    const [first, second] = [await read(to(address)), await read(to(address))]
    expect(first.text).toBe(second.text)
    expect(first.headers.get('etag')).toBe(second.headers.get('etag'))
  })

  test('the key is accepted in three headers', async () => {
    const { secret } = key
    for (const headers of [
      { APIKEY: secret },
      { ApiKey: `  ${secret} ` },
      { 'x-api-key': secret },
      { authorization: `Bearer ${secret}` },
      { apikey: secret, 'x-api-key': 'wrong', authorization: 'Bearer wrong' },
      { 'x-api-key': secret, authorization: 'Bearer wrong' },
    ]) {
      expect((await read('?limit=1', headers)).status, Object.keys(headers).join()).toBe(200)
    }
  })

  test('parameters of old clients and request bodies are ignored', async () => {
    expect((await read('?t=1&t=2&apikey=wrong&x[]=1')).status).toBe(200)
    const headers = { ...key.headers, 'content-type': 'application/x-www-form-urlencoded' }
    const options = { path: '/emails', headers, body: 'limit=0&to=nobody' }
    expect((await requestFrom(app.httpPort, '127.0.0.1', options)).status).toBe(200)
  })
})

describe('304', () => {
  test('If-None-Match matches until the list changes', async () => {
    const address = newAddress()
    const etag = (await read(to(address))).headers.get('etag') ?? ''
    for (const tag of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const response = await read(to(address), { ...key.headers, 'if-none-match': tag })
      expect([response.status, response.text], tag).toStrictEqual([304, ''])
      expect(response.headers.get('etag')).toBe(etag)
      expect(response.headers.get('cache-control')).toBe('no-store')
    }
    await send(address, 'news')
    const changed = await read(to(address), { ...key.headers, 'if-none-match': etag })
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(etag)
  })

  test('the ETag of another key does not match', async () => {
    const [mine, other] = [await app.ring.issue(), await app.ring.issue()]
    const etag = (await read('', other.headers)).headers.get('etag') ?? ''
    expect((await read('', { ...mine.headers, 'if-none-match': etag })).status).toBe(200)
  })
})

describe('400', () => {
  for (const [query, name] of [
    ['?to=ann', 'to'],
    ['?to=a%40pool.test%2Cb%40pool.test', 'to'],
    ['?to=a%20b%40pool.test', 'to'],
    ['?to=%25%40pool.test', 'to'],
    ['?to=%00', 'to'],
    ['?to=a%40pool.test&to=a%40pool.test', 'to'],
    ['?to[]=a%40pool.test', 'to'],
    ['?cursor=1', 'cursor'],
    ['?cursor=YWZ0ZXIgMA', 'cursor'],
    ['?limit=0', 'limit'],
    ['?limit=501', 'limit'],
    ['?limit=1e2', 'limit'],
    ['?since_id=x', 'since_id'],
    ['?since_id=9007199254740992', 'since_id'],
    ['?wait=56', 'wait'],
    ['?wait=-1', 'wait'],
    ['?from=ann%40', 'from'],
    ['?from=a%20b.test&wait=55', 'from'],
    [`?subject=${'x'.repeat(201)}`, 'subject'],
    ['?q=a', 'q'],
    [`?q=${'x'.repeat(101)}`, 'q'],
    ['?q=invoice&wait=5', 'q'],
  ] as const) {
    test(`${query} is refused`, async () => {
      const response = await read(query)
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
      expect(String(response.body['message'])).toMatch(new RegExp(`^${name}: `))
      expect(problemFault(response)).toBeUndefined()
    })
  }

  test('empty parameters are ignored', async () => {
    expect((await read('?to=&limit=&cursor=&since_id=&wait=&q=')).status).toBe(200)
  })
})

describe('the order of checks', () => {
  const conditional = { 'if-none-match': '*' }

  test('key, then plan state, then parameters, then ETag', async () => {
    const empty = await app.ring.issue({ requests: 0 })
    const invalidQuery = '?limit=0'
    const code = async (headers: Record<string, string>, query = invalidQuery) =>
      (await read(query, { ...headers, ...conditional })).body['code']
    expect(await code({})).toBe('invalid_key')
    expect(await code(empty.headers)).toBe('quota_exhausted')
    expect(await code(empty.headers, '')).toBe('quota_exhausted')
    expect(await code(key.headers)).toBe('invalid_parameter')
    expect((await read('', { ...key.headers, ...conditional })).status).toBe(304)
  })
})
