import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import {
  type Email,
  type EmailsElement,
  emailsElements,
  emailsOf,
} from '../../../test/support/api-client.ts'
import { problemFault, request, requestFrom } from '../../../test/support/http-client.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from '../../../test/support/keys.ts'
import { PROXY_ENV } from '../../../test/support/trusted-proxy.ts'

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

let names = 0
/** An address of the pool that nobody has sent to yet. */
const newAddress = () => {
  names += 1
  return `name${names}@pool.test`
}
const send = async (address: string | string[], subject: string, more = '') => {
  const raw = `From: Ann <ann@sender.test>\r\nSubject: ${subject}\r\n${more}\r\ntext of ${subject}\r\n`
  assert.equal(await app.mail(address, raw), 250)
}

describe('200', () => {
  test('no mail at all is one element with an empty list', async () => {
    const asked = await read(to(newAddress()))
    assert.equal(asked.status, 200)
    assert.equal(asked.text, '[{"emails":[]}]')
    assert.equal(asked.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(asked.headers.get('cache-control'), 'no-store')
    assert.match(asked.headers.get('etag') ?? '', /^W\/"[A-Za-z0-9_-]{22}"$/)
    assert.equal(asked.headers.get('link'), null)
  })

  test('a record has the five fields, and its id, the time in ISO 8601', async () => {
    const address = newAddress()
    await send(
      address,
      'Hello',
      `To: "You, there" <${address.toUpperCase()}>\r\nDate: 1 Jan 1999\r\n`,
    )
    const [element] = emailsElements(await read(to(address)))
    assert.equal(element?.address, address)
    const [email] = element?.emails ?? []
    assert.ok(email)
    const { id, date, date_iso: iso, ...rest } = email
    assert.deepEqual(rest, {
      from: 'ann@sender.test',
      to: `"You, there" <${address.toUpperCase()}>`,
      subject: 'Hello',
      body: 'text of Hello\n',
    })
    assert.ok(Number.isSafeInteger(id))
    assert.match(date, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    assert.equal(iso, `${date.replace(' ', 'T')}Z`)
    assert.ok(Math.abs(Date.parse(iso) - app.now().getTime()) < 30_000)
  })

  test('one element a recipient, in the order in which they appear; newest first', async () => {
    const { headers } = await app.ring.issue()
    const [ann, bob] = [newAddress(), newAddress()]
    const since = (await emails('?limit=1'))[0]?.id ?? 0
    await send(ann, '1')
    await send(bob, '2')
    await send([ann, bob], '3')
    await send(ann, '4')
    const list = emailsElements(await read(`?since_id=${since}`, headers))
    const gist = (all: EmailsElement[]) =>
      all.map((one) => [one.address, ...one.emails.map((e) => e.subject)])
    assert.deepEqual(
      gist(list).map(([address]) => address),
      [ann, bob],
    )
    assert.deepEqual(gist(list), [
      [ann, '4', '3', '1'],
      [bob, '3', '2'],
    ])
  })

  test('HTML becomes text, and a mail that is none is listed too', async () => {
    const address = newAddress()
    await send(address, 'html', 'Content-Type: text/html\r\n')
    await app.mail(address, '\0\xff not a mail at all')
    const [strange, html] = await emails(to(address))
    assert.equal(html?.body.trim(), 'text of html')
    assert.equal(strange?.subject, '')
    assert.equal(typeof strange?.body, 'string')
  })

  test('a body of more than 256 KB is cut at a character, and says so', async () => {
    const address = newAddress()
    const type = 'Content-Type: text/plain; charset=utf-8\r\n'
    await app.mail(address, `Subject: long\r\n${type}\r\n${'ü'.repeat(200_000)}\r\n`)
    const [long] = await emails(to(address))
    assert.equal(long?.truncated, true)
    assert.equal(long?.body, 'ü'.repeat(128 * 1024))
  })

  for (const [name, spelling] of [
    ['any case', (address: string) => address.toUpperCase()],
    ['a name around it', (address: string) => `"Lee, Ann" <${address}>`],
    ['spaces around it', (address: string) => ` ${address} `],
    ['another spelling of its domain', (address: string) => address.replace('.', '\u3002')],
  ] as const) {
    test(`to is found with ${name}`, async () => {
      const address = newAddress()
      await send(address, 'found')
      assert.deepEqual(await subjects(to(spelling(address))), ['found'])
    })
  }

  test('limit, since_id and the Link from page to page', async () => {
    const address = newAddress()
    for (const subject of ['1', '2', '3', '4', '5']) await send(address, subject)
    const all = await emails(to(address))
    const seen: string[] = []
    let query = `${to(address)}&limit=2&since_id=${all.at(-1)?.id}&t=1`
    for (let pages = 0; query !== ''; pages += 1) {
      assert.ok(pages < 3)
      const asked = await read(query)
      seen.push(...emailsOf(asked).map(({ subject }) => subject))
      const link = asked.headers.get('link')
      assert.doesNotMatch(link ?? '', new RegExp(`${key.secret}|mf_`))
      const [, next = ''] = /^<\/emails(\?[^>]+)>; rel="next"$/.exec(link ?? '') ?? []
      if (next) assert.equal(new URLSearchParams(next).get('to'), address)
      query = next
    }
    assert.deepEqual(seen, ['5', '4', '3', '2'])
  })

  test('mail that comes while somebody pages moves nothing', async () => {
    const address = newAddress()
    for (const subject of ['1', '2', '3']) await send(address, subject)
    const link = (await read(`${to(address)}&limit=2`)).headers.get('link') ?? ''
    await send(address, '4')
    assert.deepEqual(await subjects(link.slice('</emails'.length, link.indexOf('>'))), ['1'])
  })

  test('a list that was kept is never shown again once something changed', async () => {
    const address = newAddress()
    for (let count = 0; count < 3; count += 1) {
      assert.equal((await emails(to(address))).length, count)
      assert.equal((await emails(to(address))).length, count)
      await send(address, 'more')
    }
  })

  test('one list is never another’s: of a key, an address, a page', async () => {
    const other = await app.ring.issue()
    const own = await app.session({ prefix: 'kept', domain_id: '1' }, key.headers)
    await send(own.email, 'own')
    assert.deepEqual(await subjects(to(own.email)), ['own'])
    assert.equal((await read(to(own.email), other.headers)).text, '[{"emails":[]}]')
    assert.deepEqual(await subjects(`${to(own.email)}&since_id=9007199254740991`), [])
  })

  test('reading marks and deletes nothing', async () => {
    const address = newAddress()
    await send(address, 'stays')
    const [first, second] = [await read(to(address)), await read(to(address))]
    assert.equal(first.text, second.text)
    assert.equal(first.headers.get('etag'), second.headers.get('etag'))
  })

  test('the key may come in three ways', async () => {
    const { secret } = key
    for (const headers of [
      { APIKEY: secret },
      { ApiKey: `  ${secret} ` },
      { 'x-api-key': secret },
      { authorization: `Bearer ${secret}` },
      { apikey: secret, 'x-api-key': 'wrong', authorization: 'Bearer wrong' },
      { 'x-api-key': secret, authorization: 'Bearer wrong' },
    ]) {
      assert.equal((await read('?limit=1', headers)).status, 200, Object.keys(headers).join())
    }
  })

  test('what old clients add is ignored, and a body too', async () => {
    assert.equal((await read('?t=1&t=2&apikey=wrong&x[]=1')).status, 200)
    const headers = { ...key.headers, 'content-type': 'application/x-www-form-urlencoded' }
    const question = { path: '/emails', headers, body: 'limit=0&to=nobody' }
    assert.equal((await requestFrom(app.httpPort, '127.0.0.1', question)).status, 200)
  })
})

describe('304', () => {
  test('as long as nothing changed, and not a moment longer', async () => {
    const address = newAddress()
    const etag = (await read(to(address))).headers.get('etag') ?? ''
    for (const tag of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const asked = await read(to(address), { ...key.headers, 'if-none-match': tag })
      assert.deepEqual([asked.status, asked.text], [304, ''], tag)
      assert.equal(asked.headers.get('etag'), etag)
      assert.equal(asked.headers.get('cache-control'), 'no-store')
    }
    await send(address, 'news')
    const changed = await read(to(address), { ...key.headers, 'if-none-match': etag })
    assert.equal(changed.status, 200)
    assert.notEqual(changed.headers.get('etag'), etag)
  })

  test('never for the tag of another key', async () => {
    const [mine, other] = [await app.ring.issue(), await app.ring.issue()]
    const etag = (await read('', other.headers)).headers.get('etag') ?? ''
    assert.equal((await read('', { ...mine.headers, 'if-none-match': etag })).status, 200)
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
  ] as const) {
    test(query, async () => {
      const asked = await read(query)
      assert.deepEqual([asked.status, asked.body['code']], [400, 'invalid_parameter'])
      assert.match(String(asked.body['message']), new RegExp(`^${name}: `))
      assert.equal(problemFault(asked), undefined)
    })
  }

  test('an empty one counts as not given', async () => {
    assert.equal((await read('?to=&limit=&cursor=&since_id=&wait=')).status, 200)
  })
})

describe('the order of refusals', () => {
  const conditional = { 'if-none-match': '*' }

  test('the key before the state, the state before the input, the input before the version', async () => {
    const empty = await app.ring.issue({ requests: 0 })
    const bad = '?limit=0'
    const code = async (headers: Record<string, string>, query = bad) =>
      (await read(query, { ...headers, ...conditional })).body['code']
    assert.equal(await code({}), 'invalid_key')
    assert.equal(await code(empty.headers), 'quota_exhausted')
    assert.equal(await code(empty.headers, ''), 'quota_exhausted')
    assert.equal(await code(key.headers), 'invalid_parameter')
    assert.equal((await read('', { ...key.headers, ...conditional })).status, 304)
  })
})
