import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openDnsServer } from '../../../test/kit/dns/dns-server.ts'
import { post, request } from '../../../test/kit/http/http-client.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from '../../../test/kit/shop/keys.ts'

const NEVER = { expires_at: '9999-12-31 23:59:59', expires_at_iso: '9999-12-31T23:59:59Z' }
const DAY = 86_400

let dns: Awaited<ReturnType<typeof openDnsServer>>
let app: AppWithKeys
let key: TestKey
let domain = ''
beforeAll(async () => {
  dns = await openDnsServer({ 'A ns.test': ['127.0.0.1'] })
  app = await startAppWithKeys({
    env: {
      ...{ MAYFLY_OWN_DOMAINS: 'keys', MAYFLY_OWN_DOMAIN_DNS: dns.server, MAYFLY_DNS: dns.server },
      ...{ MAYFLY_OWN_DOMAIN_MAIL_TTL: '30d', MAYFLY_OWN_DOMAIN_BYTES: '1KB' },
    },
  })
})
afterAll(async () => {
  await app.stop()
  await dns.close()
})

let names = 0
beforeEach(async () => {
  names += 1
  domain = `kept${names}.test`
  key = await app.ring.issue({ domains: 1 })
  const { body } = await post(`${app.url}/domains`, { domain }, 'form', key.headers)
  const { id, records } = body as { id: string; records: { value: string }[] }
  Object.assign(dns.zone, {
    ...{ [`NS ${domain}`]: ['ns.test'], [`SOA ${domain}`]: ['ns.test'] },
    [`TXT _mayfly.${domain}`]: [records[0]?.value ?? ''],
  })
  const verified = await post(`${app.url}/domains/${id}/verify`, {}, 'form', key.headers)
  expect(verified.status, verified.text).toBe(200)
})

const create = (params: Record<string, string>, headers = key.headers) =>
  post(`${app.url}/api/create-session`, params, 'form', headers)
const sessions = async (query = '') =>
  (await request(`${app.url}/sessions${query}`, { headers: key.headers })).body['sessions']

describe('a session that does not expire', () => {
  test('says so where it is created, checked and listed', async () => {
    const { status, body } = await create({ domain, prefix: 'ann', ttl: '0', label: 'for good' })
    expect(status).toBe(200)
    const { token } = body as { token: string }
    const email = `ann@${domain}`
    expect(body).toStrictEqual({ status: 'success', email, token, ...NEVER, permanent: true })
    const checked = await request(`${app.url}/api/check-mail?token=${token}`)
    expect(checked.body).toMatchObject({ ...NEVER, permanent: true, label: 'for good' })
    const short = await create({ domain, ttl: '60' })
    expect(short.body).not.toHaveProperty('permanent')
    const kept = { email, ...NEVER, permanent: true, label: 'for good', messages: 0 }
    expect(await sessions()).toMatchObject([{ email: short.body['email'] }, kept])
    expect(await sessions('?permanent=1')).toMatchObject([kept])
    expect(await sessions('?permanent=1')).toHaveLength(1)
  })

  test('cannot be extended; ended, it refuses mail, and its key can create it again at once', async () => {
    const params = { domain, prefix: 'ann', ttl: '0' }
    const token = String((await create(params)).body['token'])
    const extended = await post(`${app.url}/api/extend-session`, { token, ttl: '60' })
    expect([extended.status, extended.body['code']]).toStrictEqual([400, 'invalid_parameter'])
    expect(extended.body['message']).toBe('token: this session does not expire.')
    expect((await create(params)).body['code']).toBe('address_taken')
    const email = `ann@${domain}`
    await post(`${app.url}/sessions/end`, { email }, 'form', key.headers)
    expect(await app.mail(email)).toBe(550)
    expect((await create(params)).status).toBe(200)
    expect(await app.mail(email)).toBe(250)
  })

  test.each([
    ['at a domain of the operator', () => ({ ttl: '0', domain: 'box.test' })],
    ['at a random domain', () => ({ ttl: '0' })],
  ])('is not created %s', async (_name, params) => {
    const { status, body } = await create(params())
    expect([status, body['code']]).toStrictEqual([400, 'invalid_parameter'])
  })

  test('without the key, its domain is unknown', async () => {
    const other = await app.ring.issue()
    for (const headers of [{}, other.headers]) {
      const { status, body } = await create({ domain, ttl: '60' }, headers)
      expect([status, body['code']]).toStrictEqual([400, 'unknown_domain'])
    }
  })
})

test('its key can create any valid name at a domain; reserved ones protect those of the operator', async () => {
  for (const prefix of ['admin', 'postmaster']) {
    const { body } = await create({ domain, prefix, ttl: '60' })
    expect(body).toMatchObject({ email: `${prefix}@${domain}` })
    for (const params of [{ domain: 'box.test' }, {}] as Record<string, string>[]) {
      expect((await create({ ...params, prefix })).body['code']).toBe('reserved_prefix')
    }
    const other = await app.ring.issue()
    const foreign = await create({ domain, prefix }, other.headers)
    expect(foreign.body['code']).toBe('reserved_prefix')
  }
  expect((await create({ domain, prefix: 'a..b' })).body['code']).toBe('invalid_prefix')
  expect(await app.mail(`postmaster@${domain}`)).toBe(250)
  expect(await sessions()).toMatchObject([{ messages: 1 }, { messages: 0 }])
})

test('mail over the budget of the key is deferred, and taken again when older mail has expired', async () => {
  const send = () => app.mail(`any@${domain}`, `Subject: x\r\n\r\n${'x'.repeat(600)}\r\n`)
  expect(await send()).toBe(250)
  expect(await send()).toBe(452)
  app.moveClock(31 * DAY)
  await expect.poll(send, { timeout: 60_000, interval: 500 }).toBe(250)
})
