import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
import {
  ENCODINGS,
  post,
  postJson,
  problemFault,
  request,
  requestFrom,
} from '../../../test/support/http-client.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/support/trusted-proxy.ts'

let app: App
let url: string
beforeAll(async () => {
  app = await startApp({ env: PROXY_ENV })
  url = `${app.url}/api/create-session`
})
afterAll(() => app.stop())

let names = 0
const newName = () => {
  names += 1
  return `name${names}`
}

describe('200', () => {
  test('nothing asked: a readable address, a token, and a day to live', async () => {
    const before = app.now().getTime()
    const { status, body, headers } = await request(url, { method: 'POST' })
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body), [
      'status',
      'email',
      'token',
      'expires_at',
      'expires_at_iso',
    ])
    assert.match(String(body['email']), /^[a-z]+\.[a-z]+[0-9]{8}@(box|pool)\.test$/)
    assert.match(String(body['token']), /^[A-Za-z0-9_-]{43}$/)
    assert.match(String(body['expires_at']), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    assert.equal(body['expires_at_iso'], `${String(body['expires_at']).replace(' ', 'T')}Z`)
    const life = Date.parse(String(body['expires_at_iso'])) - before
    assert.ok(life > 86_390_000 && life < 86_410_000)
    assert.equal(headers.get('cache-control'), 'no-store')
  })

  for (const encoding of ENCODINGS) {
    test(`every parameter is understood in ${encoding}`, async () => {
      const wish = { prefix: `Of-${encoding}`, domain_id: '2', ttl: '60', use_gmail: '0' }
      const { body } = await post(url, wish, encoding)
      assert.equal(body['email'], `of-${encoding}@pool.test`)
      const life = Date.parse(String(body['expires_at_iso'])) - app.now().getTime()
      assert.ok(life <= 60_000 && life > 30_000)
    })
  }

  test('the longest life without a key is seven days', async () => {
    const { body } = await post(url, { ttl: '604800' })
    const life = Date.parse(String(body['expires_at_iso'])) - app.now().getTime()
    assert.ok(life <= 604_800_000 && life > 604_770_000)
  })

  test('JSON may give numbers and flags as such', async () => {
    const prefix = newName()
    const wish = `{"prefix":"${prefix}","domain_id":1.0,"ttl":6e1,"gmail_auto":false,"x":[1]}`
    assert.equal((await postJson(url, wish)).body['email'], `${prefix}@box.test`)
  })

  test('the body wins over the query, and what is empty there does not', async () => {
    const [inQuery, inBody] = [newName(), newName()]
    const both = `${url}?prefix=${inQuery}&domain_id=1`
    const { body } = await post(both, { prefix: inBody, domain_id: '' })
    assert.equal(body['email'], `${inBody}@box.test`)
  })

  test('empty, null and unknown parameters count as not given', async () => {
    assert.equal((await post(url, { prefix: '', domain_id: '', ttl: '', t: '1' })).status, 200)
    const nulls = '{"prefix":null,"domain_id":null,"ttl":null,"use_gmail":null}'
    assert.equal((await postJson(url, nulls)).status, 200)
    assert.equal((await postJson(url, 'null')).status, 200)
  })

  test('names of JSON that reach for prototypes are nothing but unknown', async () => {
    const body =
      '{"__proto__":{"polluted":1,"prefix":"abuse"},"constructor":{"prototype":{"polluted":1}}}'
    assert.equal((await postJson(url, body)).status, 200)
    assert.equal(
      (await post(url, { __proto__x: '1', 'constructor.prototype.polluted': '1' })).status,
      200,
    )
  })

  test('random addresses use every domain and never come twice', async () => {
    const emails = await Promise.all(
      Array.from({ length: 40 }, async () => (await app.session()).email),
    )
    assert.equal(new Set(emails).size, emails.length)
    assert.equal(new Set(emails.map((email) => email.split('@')[1])).size, 2)
  })
})

describe('400', () => {
  for (const [name, params, code] of [
    ['a prefix with a space', { prefix: 'a b' }, 'invalid_prefix'],
    ['a prefix with two dots together', { prefix: 'a..b' }, 'invalid_prefix'],
    ['a prefix of 65 octets', { prefix: 'a'.repeat(65) }, 'invalid_prefix'],
    ['a prefix with a Kelvin sign', { prefix: '\u212aelvin' }, 'invalid_prefix'],
    ['postmaster', { prefix: 'Postmaster' }, 'reserved_prefix'],
    ['ssl.admin', { prefix: 'ssl.admin' }, 'reserved_prefix'],
    ['a domain that is not there', { domain_id: '99' }, 'unknown_domain'],
    ['domain 0', { domain_id: '0' }, 'unknown_domain'],
    ['a domain id that is no number', { domain_id: '1;--' }, 'invalid_parameter'],
    ['a ttl of 59 seconds', { ttl: '59' }, 'invalid_parameter'],
    ['a ttl beyond the longest life without a key', { ttl: '604801' }, 'invalid_parameter'],
    ['a flag that is neither', { use_gmail: '2' }, 'invalid_parameter'],
    [
      'a Gmail account that is not there',
      { use_gmail: '1', gmail_id: '1' },
      'unknown_gmail_account',
    ],
  ] as const) {
    test(`${name}: the same refusal in every encoding`, async () => {
      for (const encoding of ENCODINGS) {
        const asked = await post(url, params, encoding)
        assert.deepEqual([asked.status, asked.body['code']], [400, code], encoding)
        assert.equal(problemFault(asked), undefined)
        assert.match(String(asked.body['message']), new RegExp(`^${Object.keys(params).at(-1)}: `))
      }
    })
  }

  for (const [name, body] of [
    ['an array', '{"prefix":["a"]}'],
    ['an object', '{"prefix":{"a":1}}'],
    ['a flag', '{"prefix":true}'],
    ['a fraction', '{"domain_id":1.5}'],
    ['a negative number', '{"domain_id":-1}'],
    ['a number past all numbers', '{"ttl":1e999}'],
    ['a name given twice', '{"prefix":"a","pre\\u0066ix":"b"}'],
  ] as const) {
    test(`${name} in JSON where another value is due`, async () => {
      const asked = await postJson(url, body)
      assert.deepEqual([asked.status, asked.body['code']], [400, 'invalid_parameter'])
      const given = Object.keys(JSON.parse(body))[0]
      assert.match(String(asked.body['message']), new RegExp(`^${given}: `))
    })
  }

  test('a parameter given twice in one place', async () => {
    const twice = 'prefix=a&prefix=b'
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const parts = new FormData()
    for (const value of ['a', 'b']) parts.append('prefix', value)
    for (const asked of [
      await request(`${url}?${twice}`, { method: 'POST' }),
      await request(url, { method: 'POST', headers: form, body: twice }),
      await request(url, { method: 'POST', body: parts }),
    ]) {
      assert.equal(asked.body['code'], 'invalid_parameter')
    }
  })

  test('a file where a text is due', async () => {
    const parts = new FormData()
    parts.append('prefix', new Blob(['ann']), 'ann.txt')
    const asked = await request(url, { method: 'POST', body: parts })
    assert.deepEqual([asked.status, asked.body['code']], [400, 'invalid_parameter'])
  })
})

describe('409', () => {
  test('an address that is held, in whatever spelling', async () => {
    assert.equal((await post(url, { prefix: 'held', domain_id: '1' })).status, 200)
    const asked = await post(url, { prefix: 'HELD', domain_id: '1' })
    assert.deepEqual([asked.status, asked.body['code']], [409, 'address_taken'])
    assert.equal(problemFault(asked), undefined)
    assert.equal(
      (await post(url, { prefix: 'held', domain_id: '2' })).status,
      200,
      'elsewhere it is free',
    )
  })

  test('an address that cools down after its session', async () => {
    const { token } = await app.session({ prefix: 'cooling', domain_id: '1' })
    await post(`${app.url}/api/delete-session`, { token })
    assert.equal((await post(url, { prefix: 'cooling', domain_id: '1' })).status, 409)
  })
})

describe('413', () => {
  test('a body of more than a hundred parts', async () => {
    const parts = new FormData()
    for (let part = 0; part < 101; part += 1) parts.append(`p${part}`, '1')
    const asked = await request(url, { method: 'POST', body: parts })
    assert.deepEqual([asked.status, asked.body['code']], [413, 'too_large'])
  })
})

describe('429', () => {
  test('the sixty-first session of one address within a minute', async () => {
    const client = newClient()
    const once = () =>
      requestFrom(app.httpPort, PROXY, {
        method: 'POST',
        path: '/api/create-session',
        headers: { 'x-forwarded-for': client },
      })
    const started = app.now().getTime()
    let passed = 0
    let last = await once()
    for (; last.status === 200; last = await once()) passed += 1
    // One grows back each second.
    const seconds = Math.ceil((app.now().getTime() - started) / 1_000)
    assert.ok(passed >= 60 && passed <= 60 + seconds, `${passed} passed in ${seconds} s`)
    assert.deepEqual([last.status, last.body['code']], [429, 'rate_limited'])
    assert.equal(problemFault(last), undefined)
  })
})

describe('503', () => {
  for (const params of [
    { use_gmail: '1' },
    { gmail_auto: 'true' },
    { gmail_auto: '1', gmail_id: '7' },
    { use_gmail: '1', domain_id: '1', prefix: 'ann' },
  ]) {
    test(`no Gmail account can be had: ${JSON.stringify(params)}`, async () => {
      const asked = await post(url, params)
      assert.deepEqual([asked.status, asked.body['code']], [503, 'gmail_unavailable'])
      assert.equal(problemFault(asked), undefined)
    })
  }
})
