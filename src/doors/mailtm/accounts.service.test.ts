import { globSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { post } from '../../../test/kit/http/http-client.ts'
import { type AppWithKeys, startAppWithKeys } from '../../../test/kit/shop/keys.ts'
import { mailTmClient } from '../testing/mailtm-client.ts'

const DAY = 86_400
const LINKED = 'application/ld+json'
const ID = /^[0-9a-f]{24}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/

let app: AppWithKeys
let call: ReturnType<typeof mailTmClient>['call']
let account: ReturnType<typeof mailTmClient>['account']
beforeAll(async () => {
  app = await startAppWithKeys({
    env: { MAYFLY_DOORS: 'mailtm', MAYFLY_DOMAINS: 'box.test,pool.test,*.wild.test' },
  })
  ;({ call, account } = mailTmClient(app.url))
})
afterAll(() => app.stop())

const register = (body: object, headers: Record<string, string> = {}) =>
  call('/accounts', { method: 'POST', body, headers })
const signIn = (body: object, headers: Record<string, string> = {}) =>
  call('/token', { method: 'POST', body, headers })

describe('POST /accounts and /token', () => {
  test('201, 200: an account, and a token for it', async () => {
    const credentials = { address: 'Ann@Box.test', password: 'p' }
    const created = await register(credentials)
    expect(created.status).toBe(201)
    const shown = {
      id: expect.stringMatching(ID),
      ...{ address: 'ann@box.test', quota: 100 * 1024 ** 2, used: 0 },
      ...{ isDisabled: false, isDeleted: false },
      createdAt: expect.stringMatching(TIME),
      updatedAt: expect.stringMatching(TIME),
      retentionAt: expect.stringMatching(TIME),
    }
    expect(created.body).toStrictEqual(shown)
    const { status, body } = await signIn(credentials)
    const { id, token } = body as { id: string; token: string }
    expect(status).toBe(200)
    expect(body).toStrictEqual({ id, token, '@id': `/accounts/${id}` })
    expect(token).toMatch(/^[\w-]{43}$/)
    expect((await call('/me', { token })).body).toStrictEqual({ ...shown, id })
    const linked = await call(`/accounts/${id}`, { token, accept: LINKED })
    expect(linked.body).toStrictEqual({
      ...{ '@context': '/contexts/Account', '@id': `/accounts/${id}`, '@type': 'Account' },
      ...{ ...shown, id },
    })
  })

  const fault = (propertyPath: string, message: string) => ({ propertyPath, message })
  const TAKEN = fault('address', 'This value is already used.')
  const NO_EMAIL = fault('address', 'This value is not a valid email address.')
  const BLANK = 'This value should not be blank.'

  test.each([
    ['nothing', {}, [fault('address', BLANK), fault('password', BLANK)]],
    ['no password', { address: 'new@box.test' }, [fault('password', BLANK)]],
    ['no address', { password: 'p' }, [fault('address', BLANK)]],
    ['not an address', { address: 'new', password: 'p' }, [NO_EMAIL]],
    ['a name that is not allowed', { address: 'a..b@box.test', password: 'p' }, [NO_EMAIL]],
    ['a tag', { address: 'a+b@box.test', password: 'p' }, [NO_EMAIL]],
    ['a reserved name', { address: 'admin@box.test', password: 'p' }, [NO_EMAIL]],
    [
      'an unknown domain',
      { address: 'new@other.test', password: 'p' },
      [fault('address', 'The domain "other.test" is not valid.')],
    ],
    [
      'a wildcard domain',
      { address: 'new@wild.test', password: 'p' },
      [fault('address', 'The domain "wild.test" is not valid.')],
    ],
  ])('422: %s', async (_name, body, violations) => {
    const detail = violations.map((one) => `${one.propertyPath}: ${one.message}`).join('\n')
    const listed = violations.map((one) => ({ ...one, code: expect.stringMatching(/^[\w-]{36}$/) }))
    const plain = await register(body)
    expect([plain.status, plain.body]).toStrictEqual([
      422,
      {
        type: 'https://tools.ietf.org/html/rfc2616#section-10',
        ...{ title: 'An error occurred', status: 422, detail, violations: listed },
      },
    ])
    const linked = await call('/accounts', { method: 'POST', body, accept: LINKED })
    expect(linked.headers.get('content-type')).toMatch(/^application\/ld\+json/)
    expect([linked.status, linked.body]).toStrictEqual([
      422,
      {
        '@context': '/contexts/ConstraintViolationList',
        '@type': 'ConstraintViolationList',
        'hydra:title': 'An error occurred',
        'hydra:description': detail,
        violations: listed,
      },
    ])
  })

  test('422: an address that is taken, by an account, a session, or one that has ended', async () => {
    const owner = await account()
    const { email } = await app.session({ domain: 'box.test' })
    const ended = await account()
    await call(`/accounts/${ended.id}`, { method: 'DELETE', token: ended.token })
    for (const address of [owner.address, email, ended.address]) {
      const { status, body } = await register({ address, password: 'p' })
      expect([status, body['violations']]).toMatchObject([422, [TAKEN]])
    }
    expect((await call('/me', { token: owner.token })).status).toBe(200)
  })

  test('of concurrent requests for one address, one succeeds, with its own password', async () => {
    const passwords = Array.from({ length: 8 }, (_, at) => `password ${at}`)
    const address = 'race@box.test'
    const created = await Promise.all(passwords.map((password) => register({ address, password })))
    expect(created.map(({ status }) => status).toSorted()).toStrictEqual([
      201,
      ...Array.from({ length: 7 }, () => 422),
    ])
    const statuses = []
    for (const password of passwords) statuses.push((await signIn({ address, password })).status)
    expect(statuses).toStrictEqual(created.map(({ status }) => (status === 201 ? 200 : 401)))
  })

  test('400: no JSON, or no credentials', async () => {
    for (const path of ['/accounts', '/token']) {
      const { status, text } = await call(path, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
        body: [],
      })
      expect(status, text).toBe(400)
    }
    expect((await signIn({ address: 'ann@box.test' })).body['detail']).toBe(
      'The key "password" must be provided.',
    )
    expect((await signIn({})).body['detail']).toBe('The key "address" must be provided.')
  })

  test('400, 422: a password in the query, which proxies log, is not taken', async () => {
    const { address, password } = await account()
    const query = `?password=${encodeURIComponent(password)}`
    const token = await call(`/token${query}`, { method: 'POST', body: { address } })
    expect([token.status, token.body['detail']]).toStrictEqual([
      400,
      'The key "password" must be provided.',
    ])
    const body = { address: 'query@box.test' }
    expect((await call(`/accounts${query}`, { method: 'POST', body })).status).toBe(422)
  })

  test('401: a wrong password and an unknown address are the same', async () => {
    const { address } = await account()
    const { email } = await app.session({ domain: 'box.test' })
    for (const wrong of [address, email, 'nobody@box.test', 'nobody@other.test', 'nobody', '@']) {
      const { status, body } = await signIn({ address: wrong, password: 'wrong' })
      expect([status, body]).toStrictEqual([401, { code: 401, message: 'Invalid credentials.' }])
    }
  })

  test('429: ten wrong passwords for an account in a minute, also by a local client', async () => {
    const { address } = await account()
    const statuses: number[] = []
    for (let guess = 0; guess < 12; guess += 1)
      statuses.push((await signIn({ address, password: 'wrong' })).status)
    expect(statuses.slice(0, 8)).toStrictEqual(Array(8).fill(401))
    expect(statuses.at(-1)).toBe(429)
  })

  test('with an API key, the key sees the mail, and a new token of the session ends the others', async () => {
    const key = await app.ring.issue()
    const credentials = { address: 'keyed@box.test', password: 'p' }
    expect((await register(credentials, key.headers)).status).toBe(201)
    expect((await register({ ...credentials }, { apikey: 'mf_live_x' })).status).toBe(401)
    const { token } = (await signIn(credentials)).body as { token: string }
    expect((await call('/me', { token })).status).toBe(200)
    const email = credentials.address
    const rolled = await post(`${app.url}/sessions/roll-token`, { email }, 'form', key.headers)
    expect(rolled.status).toBe(200)
    expect((await call('/me', { token })).status).toBe(401)
    const again = (await signIn(credentials)).body as { token: string }
    expect((await call('/me', { token: again.token })).status).toBe(200)
  })
})

describe('tokens', () => {
  test('401: none, a wrong one, one of a session, one of an account that has ended', async () => {
    const session = await app.session({ domain: 'box.test' })
    const ended = await account()
    const deleted = await call(`/accounts/${ended.id}`, { method: 'DELETE', token: ended.token })
    expect([deleted.status, deleted.text]).toStrictEqual([204, ''])
    for (const [message, token] of [
      ['JWT Token not found', undefined],
      ['Invalid JWT Token', 'x'],
      ['Invalid JWT Token', 'x'.repeat(43)],
      ['Invalid JWT Token', session.token],
      ['Invalid JWT Token', ended.token],
    ] as const) {
      const given = token === undefined ? {} : { token }
      for (const accept of ['application/json', LINKED]) {
        const { status, body, headers } = await call('/me', { ...given, accept })
        expect([status, body]).toStrictEqual([401, { code: 401, message }])
        expect(headers.get('content-type')).toMatch(/^application\/json/)
      }
    }
    expect((await signIn(ended)).status).toBe(401)
  })

  test('a token of an account is not one of a session', async () => {
    const { token } = await account()
    const checked = await fetch(`${app.url}/api/check-mail?token=${token}`)
    expect(checked.status).toBe(401)
  })

  test('of eleven, the oldest is invalid', async () => {
    const owner = await account()
    for (let at = 0; at < 9; at += 1) await signIn(owner)
    expect((await call('/me', { token: owner.token })).status).toBe(200)
    app.moveClock(1)
    await signIn(owner)
    expect((await call('/me', { token: owner.token })).status).toBe(401)
  })

  test('401: an account that has expired; its address stays taken', async () => {
    const owner = await account()
    app.moveClock(DAY)
    const { status, body } = await call('/me', { token: owner.token })
    expect([status, body['message']]).toStrictEqual([401, expect.stringMatching(/JWT Token$/)])
    expect((await signIn(owner)).status).toBe(401)
    expect((await register(owner)).status).toBe(422)
  })
})

test('404: the account of somebody else is like none', async () => {
  const [ann, bob] = [await account(), await account()]
  for (const method of ['GET', 'DELETE']) {
    const foreign = await call(`/accounts/${bob.id}`, { method, token: ann.token })
    const none = await call(`/accounts/${'0'.repeat(24)}`, { method, token: ann.token })
    expect(foreign.status).toBe(404)
    expect(foreign.body).toStrictEqual(none.body)
    expect(foreign.body['detail']).toBe('Not Found')
  }
  expect((await call('/me', { token: bob.token })).status).toBe(200)
})

test('405, with the methods that there are', async () => {
  for (const [method, path, allow] of [
    ['GET', '/token', 'POST, OPTIONS'],
    ['POST', '/messages', 'GET, HEAD, OPTIONS'],
  ] as const) {
    const { status, body, headers } = await call(path, { method })
    expect([status, headers.get('allow')]).toStrictEqual([405, allow])
    expect(body).toMatchObject({ title: 'An error occurred', status: 405 })
    const linked = await call(path, { method, accept: LINKED })
    expect(linked.body).toMatchObject({ '@type': 'hydra:Error' })
  }
})

test('413, 415: in the same form', async () => {
  const large = await register({ address: 'x'.repeat(70_000) })
  expect([large.status, large.body['title']]).toStrictEqual([413, 'An error occurred'])
  const type = { 'content-type': 'text/plain' }
  const other = await call('/accounts', { method: 'POST', body: {}, headers: type })
  expect([other.status, other.body['title']]).toStrictEqual([415, 'An error occurred'])
})

test('neither a password nor a token is stored, only hashes', async () => {
  const owner = await account()
  for (const file of globSync(`${app.folder}/*`)) {
    const bytes = readFileSync(file)
    expect(bytes.includes(owner.password), file).toBe(false)
    expect(bytes.includes(owner.token), file).toBe(false)
  }
})

test('without MAYFLY_DOORS there is no such path', async () => {
  const off = await startAppWithKeys({ env: { MAYFLY_DOORS: 'addy' } })
  try {
    const client = mailTmClient(off.url)
    for (const path of ['/domains', '/messages', '/me']) {
      const { status, body } = await client.call(path)
      expect([status, body['code']]).toStrictEqual([404, 'not_found'])
    }
  } finally {
    await off.stop()
  }
})
