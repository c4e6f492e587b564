import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import {
  ENCODINGS,
  post,
  postJson,
  problemFault,
  request,
  requestFrom,
} from '../../../test/kit/http/http-client.ts'
import { newClient, PROXY } from '../../../test/kit/http/trusted-proxy.ts'

let app: App
let url: string
beforeAll(async () => {
  app = await sharedApp()
  url = `${app.url}/api/create-session`
})

let nameCount = 0
const newName = () => {
  nameCount += 1
  return `name${nameCount}`
}

describe('200', () => {
  test('without parameters the response has a readable address, a token and a ttl of one day', async () => {
    const before = app.now().getTime()
    const { status, body, headers } = await request(url, { method: 'POST' })
    expect(status).toBe(200)
    expect(Object.keys(body)).toStrictEqual([
      'status',
      'email',
      'token',
      'expires_at',
      'expires_at_iso',
    ])
    expect(String(body['email'])).toMatch(/^[a-z]+\.[a-z]+[0-9]{3}@(box|pool)\.test$/)
    expect(String(body['token'])).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(String(body['expires_at'])).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    expect(body['expires_at_iso']).toBe(`${String(body['expires_at']).replace(' ', 'T')}Z`)
    const lifetimeMs = Date.parse(String(body['expires_at_iso'])) - before
    expect(lifetimeMs > 86_390_000 && lifetimeMs < 86_410_000).toBeTruthy()
    expect(headers.get('cache-control')).toBe('no-store')
  })

  for (const encoding of ENCODINGS) {
    test(`every parameter is accepted in ${encoding}`, async () => {
      const params = { prefix: `Of-${encoding}`, domain_id: '2', ttl: '60', use_gmail: '0' }
      const { body } = await post(url, params, encoding)
      expect(body['email']).toBe(`of-${encoding}@pool.test`)
      const lifetimeMs = Date.parse(String(body['expires_at_iso'])) - app.now().getTime()
      expect(lifetimeMs <= 60_000 && lifetimeMs > 30_000).toBeTruthy()
    })
  }

  test('a domain can be chosen by its name, ignoring case', async () => {
    const { body } = await post(url, { domain: 'Pool.TEST' })
    expect(String(body['email'])).toMatch(/@pool\.test$/)
  })

  test('a label is returned by check-mail', async () => {
    const label = `Ünïcode ${'\u{1f98b}'.repeat(52)}`
    const { body } = await post(url, { label }, 'json')
    const list = await request(`${app.url}/api/check-mail?token=${body['token']}`)
    expect(list.body['label']).toBe(label)
    const { token } = await app.session()
    const without = await request(`${app.url}/api/check-mail?token=${token}`)
    expect(Object.keys(without.body)).not.toContain('label')
  })

  test('the maximum ttl without a key is seven days', async () => {
    const { body } = await post(url, { ttl: '604800' })
    const lifetimeMs = Date.parse(String(body['expires_at_iso'])) - app.now().getTime()
    expect(lifetimeMs <= 604_800_000 && lifetimeMs > 604_770_000).toBeTruthy()
  })

  test('JSON numbers and booleans are accepted', async () => {
    const prefix = newName()
    const json = `{"prefix":"${prefix}","domain_id":1.0,"ttl":6e1,"gmail_auto":false,"x":[1]}`
    expect((await postJson(url, json)).body['email']).toBe(`${prefix}@box.test`)
  })

  test('body parameters override query parameters unless they are empty', async () => {
    const [inQuery, inBody] = [newName(), newName()]
    const both = `${url}?prefix=${inQuery}&domain_id=1`
    const { body } = await post(both, { prefix: inBody, domain_id: '' })
    expect(body['email']).toBe(`${inBody}@box.test`)
  })

  test('empty, null and unknown parameters are ignored', async () => {
    expect((await post(url, { prefix: '', domain_id: '', ttl: '', t: '1' })).status).toBe(200)
    const nulls = '{"prefix":null,"domain_id":null,"ttl":null,"use_gmail":null}'
    expect((await postJson(url, nulls)).status).toBe(200)
    expect((await postJson(url, 'null')).status).toBe(200)
  })

  test('half of a surrogate pair in JSON is replaced, as in other encodings', async () => {
    for (const encoding of ENCODINGS) {
      const { body } = await post(url, { label: 'a\ud800' }, encoding)
      const list = await request(`${app.url}/api/check-mail?token=${body['token']}`)
      expect(list.body['label'], encoding).toBe('a\ufffd')
    }
  })

  test('prototype property names in JSON are ignored', async () => {
    const body =
      '{"__proto__":{"polluted":1,"prefix":"abuse"},"constructor":{"prototype":{"polluted":1}}}'
    expect((await postJson(url, body)).status).toBe(200)
    expect(
      (await post(url, { __proto__x: '1', 'constructor.prototype.polluted': '1' })).status,
    ).toBe(200)
  })

  test('random addresses are unique and use every domain', async () => {
    const emails = await Promise.all(
      Array.from({ length: 40 }, async () => (await app.session()).email),
    )
    expect(new Set(emails).size).toBe(emails.length)
    expect(new Set(emails.map((email) => email.split('@')[1])).size).toBe(2)
  })
})

describe('400', () => {
  for (const [name, params, code] of [
    ['a prefix with a space', { prefix: 'a b' }, 'invalid_prefix'],
    ['a prefix with two consecutive dots', { prefix: 'a..b' }, 'invalid_prefix'],
    ['a prefix of 65 octets', { prefix: 'a'.repeat(65) }, 'invalid_prefix'],
    ['a prefix with a Kelvin sign', { prefix: '\u212aelvin' }, 'invalid_prefix'],
    ['postmaster', { prefix: 'Postmaster' }, 'reserved_prefix'],
    ['ssl.admin', { prefix: 'ssl.admin' }, 'reserved_prefix'],
    ['an unknown domain', { domain_id: '99' }, 'unknown_domain'],
    ['domain 0', { domain_id: '0' }, 'unknown_domain'],
    ['an unknown domain name', { domain: 'other.test' }, 'unknown_domain'],
    ['a domain name that is none', { domain: 'box.test@' }, 'unknown_domain'],
    ['a subdomain of an ordinary domain', { domain_id: '1', subdomain: 'a' }, 'invalid_parameter'],
    ['a subdomain without a wildcard domain', { subdomain: 'a' }, 'unknown_domain'],
    ['domain and domain_id', { domain_id: '1', domain: 'box.test' }, 'invalid_parameter'],
    ['a domain id that is not a number', { domain_id: '1;--' }, 'invalid_parameter'],
    ['a label of 61 characters', { label: 'é'.repeat(61) }, 'invalid_parameter'],
    ['a label of two lines', { label: 'a\nb' }, 'invalid_parameter'],
    ['a ttl of 59 seconds', { ttl: '59' }, 'invalid_parameter'],
    ['a ttl above the maximum without a key', { ttl: '604801' }, 'invalid_parameter'],
    ['an invalid boolean', { use_gmail: '2' }, 'invalid_parameter'],
    ['an unknown Gmail account', { use_gmail: '1', gmail_id: '1' }, 'unknown_gmail_account'],
  ] as const) {
    test(`${name} is refused in every encoding`, async () => {
      for (const encoding of ENCODINGS) {
        const response = await post(url, params, encoding)
        expect([response.status, response.body['code']], encoding).toStrictEqual([400, code])
        expect(problemFault(response)).toBeUndefined()
        expect(String(response.body['message'])).toMatch(
          new RegExp(`^${Object.keys(params).at(-1)}: `),
        )
      }
    })
  }

  for (const [name, body] of [
    ['an array', '{"prefix":["a"]}'],
    ['an object', '{"prefix":{"a":1}}'],
    ['a boolean', '{"prefix":true}'],
    ['a fraction', '{"domain_id":1.5}'],
    ['a negative number', '{"domain_id":-1}'],
    ['an infinite number', '{"ttl":1e999}'],
    ['a repeated name', '{"prefix":"a","pre\\u0066ix":"b"}'],
  ] as const) {
    test(`${name} in JSON is refused`, async () => {
      const response = await postJson(url, body)
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
      const parameter = Object.keys(JSON.parse(body))[0]
      expect(String(response.body['message'])).toMatch(new RegExp(`^${parameter}: `))
    })
  }

  test('a repeated parameter is refused', async () => {
    const repeated = 'prefix=a&prefix=b'
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const parts = new FormData()
    for (const value of ['a', 'b']) parts.append('prefix', value)
    for (const response of [
      await request(`${url}?${repeated}`, { method: 'POST' }),
      await request(url, { method: 'POST', headers: form, body: repeated }),
      await request(url, { method: 'POST', body: parts }),
    ]) {
      expect(response.body['code']).toBe('invalid_parameter')
    }
  })

  test('a file in place of text is refused', async () => {
    const parts = new FormData()
    parts.append('prefix', new Blob(['ann']), 'ann.txt')
    const response = await request(url, { method: 'POST', body: parts })
    expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
  })
})

describe('409', () => {
  test('an address in use is refused, ignoring case', async () => {
    expect((await post(url, { prefix: 'held', domain_id: '1' })).status).toBe(200)
    const response = await post(url, { prefix: 'HELD', domain_id: '1' })
    expect([response.status, response.body['code']]).toStrictEqual([409, 'address_taken'])
    expect(problemFault(response)).toBeUndefined()
    expect(
      (await post(url, { prefix: 'held', domain_id: '2' })).status,
      'elsewhere it is free',
    ).toBe(200)
  })

  test('an address is refused during its cool-down', async () => {
    const { token } = await app.session({ prefix: 'cooling', domain_id: '1' })
    await post(`${app.url}/api/delete-session`, { token })
    expect((await post(url, { prefix: 'cooling', domain_id: '1' })).status).toBe(409)
  })
})

describe('413', () => {
  test('a body of more than 100 parts is refused', async () => {
    const parts = new FormData()
    for (let part = 0; part < 101; part += 1) parts.append(`p${part}`, '1')
    const response = await request(url, { method: 'POST', body: parts })
    expect([response.status, response.body['code']]).toStrictEqual([413, 'too_large'])
  })
})

describe('429', () => {
  test('a client can create 60 sessions a minute', async () => {
    const client = newClient()
    const create = () =>
      requestFrom(app.httpPort, PROXY, {
        method: 'POST',
        path: '/api/create-session',
        headers: { 'x-forwarded-for': client },
      })
    const started = app.now().getTime()
    let passed = 0
    let last = await create()
    for (; last.status === 200; last = await create()) passed += 1
    // One request is regained each second.
    const seconds = Math.ceil((app.now().getTime() - started) / 1_000)
    expect(passed >= 60 && passed <= 60 + seconds, `${passed} passed in ${seconds} s`).toBeTruthy()
    expect([last.status, last.body['code']]).toStrictEqual([429, 'rate_limited'])
    expect(problemFault(last)).toBeUndefined()
  })
})

describe('503', () => {
  for (const params of [
    { use_gmail: '1' },
    { gmail_auto: 'true' },
    { gmail_auto: '1', gmail_id: '7' },
    { use_gmail: '1', domain_id: '1', prefix: 'ann' },
  ]) {
    test(`no Gmail account is available: ${JSON.stringify(params)}`, async () => {
      const response = await post(url, params)
      expect([response.status, response.body['code']]).toStrictEqual([503, 'gmail_unavailable'])
      expect(problemFault(response)).toBeUndefined()
    })
  }
})
