import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openDnsServer } from '../../../test/kit/dns/dns-server.ts'
import { problemFault, request, type TestResponse } from '../../../test/kit/http/http-client.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from '../../../test/kit/shop/keys.ts'

// The resolver of the service, which is also the name server of every domain in these tests.
let dns: Awaited<ReturnType<typeof openDnsServer>>
let app: AppWithKeys
let key: TestKey
let other: TestKey
beforeAll(async () => {
  dns = await openDnsServer({ 'A ns.test': ['127.0.0.1'] })
  app = await startAppWithKeys({
    env: {
      MAYFLY_OWN_DOMAINS: 'keys',
      MAYFLY_OWN_DOMAIN_DNS: dns.server,
      MAYFLY_DNS: dns.server,
      MAYFLY_SMTP_HOSTNAME: 'mx.host.test',
      MAYFLY_BASE_URL: 'http://page.test',
    },
  })
})
afterAll(async () => {
  await app.stop()
  await dns.close()
})
beforeEach(async () => {
  key = await app.ring.issue({ domains: 3 })
  other = await app.ring.issue()
})

const call = (path: string, params?: Record<string, string>, { headers } = key) =>
  request(`${app.url}/domains${path}`, {
    headers,
    ...(params && { method: 'POST', body: new URLSearchParams(params) }),
  })

let names = 0
/** A domain that no other test uses, with its zone. */
function newName(): string {
  names += 1
  const name = `corp${names}.test`
  Object.assign(dns.zone, { [`NS ${name}`]: ['ns.test'], [`SOA ${name}`]: ['ns.test'] })
  return name
}

interface DomainJson extends Record<string, unknown> {
  id: string
  records: { type: string; name: string; value: string }[]
}

async function add(name: string, by = key): Promise<DomainJson> {
  const { status, body, text } = await call('', { domain: name }, by)
  expect(status, text).toBe(200)
  return body as DomainJson
}

const publish = (name: string, ...claims: DomainJson[]) => {
  dns.zone[`TXT _mayfly.${name}`] = claims.map(({ records }) => records[0]?.value ?? '')
}

const verify = (id: string, by = key) => call(`/${id}/verify`, {}, by)

async function verified(name = newName(), by = key): Promise<DomainJson> {
  const claim = await add(name, by)
  publish(name, claim)
  const { status, body, text } = await verify(claim.id, by)
  expect(status, text).toBe(200)
  return body['domain'] as DomainJson
}

function expectProblem(response: TestResponse, status: number, code: string): void {
  expect([response.status, response.body['code']]).toEqual([status, code])
  expect(problemFault(response)).toBeUndefined()
}

describe('200', () => {
  test('a new domain is pending and comes with its records', async () => {
    const name = newName()
    const { body, headers } = await call('', { domain: name.toUpperCase() })
    const claim = body as DomainJson
    expect(body).toStrictEqual({
      status: 'success',
      id: expect.stringMatching(/^dom_[A-Za-z0-9]{22}$/),
      domain: name,
      unicode: name,
      state: 'pending',
      reason: null,
      catch_all: true,
      created_at: expect.any(String),
      created_at_iso: expect.any(String),
      verified_at: null,
      verified_at_iso: null,
      checked_at: null,
      checked_at_iso: null,
      missing_since: null,
      missing_since_iso: null,
      suspends_at: null,
      suspends_at_iso: null,
      taken: 0,
      refused: 0,
      records: [
        {
          type: 'TXT',
          name: `_mayfly.${name}`,
          value: expect.stringMatching(/^mayfly-verification=[\w-]{27}$/),
        },
        { type: 'MX', name, value: '10 mx.host.test' },
      ],
    })
    expect(headers.get('cache-control')).toBe('no-store')
    const { status: _, ...domain } = body
    const listed = await call('')
    expect(listed.body).toMatchObject({ domains: [domain], limit: 3, warnings: [] })
    expect((await call(`/${claim.id}`)).body['domain']).toStrictEqual(domain)
  })

  test('an international name is stored in A-labels and shown in U-labels', async () => {
    const { domain, unicode, records } = await add('bücher.test')
    expect([domain, unicode]).toEqual(['xn--bcher-kva.test', 'bücher.test'])
    expect(records[0]?.name).toBe('_mayfly.xn--bcher-kva.test')
  })

  test('a verified domain is active, and takes mail for its key alone', async () => {
    const { domain } = await verified()
    expect(await app.mail(`anybody@${domain}`)).toBe(250)
    const read = ({ headers }: TestKey) => request(`${app.url}/emails`, { headers })
    expect((await read(key)).text).toContain(`anybody@${domain}`)
    expect((await read(other)).text).not.toContain(`anybody@${domain}`)
    const { body } = await call('')
    expect(body).toMatchObject({ domains: [{ state: 'active', taken: 1 }] })
  })

  test('a domain is verified again without a change', async () => {
    const { id } = await verified()
    expect((await verify(id)).body).toMatchObject({ domain: { state: 'active', reason: null } })
  })

  test('without the catch-all, mail to unknown addresses is refused', async () => {
    const { id, domain } = await verified()
    const { body } = await call(`/${id}`, { catch_all: '0' })
    expect(body['domain']).toMatchObject({ catch_all: false })
    expect(await app.mail(`anybody@${domain}`)).toBe(550)
    await call(`/${id}`, { catch_all: '1' })
    expect(await app.mail(`anybody@${domain}`)).toBe(250)
  })

  test('a key takes a domain over once the record of the other one is missing', async () => {
    const name = newName()
    const theirs = await verified(name, other)
    const ours = await add(name)
    publish(name, theirs, ours)
    expect((await verify(ours.id)).body['code']).toBe('domain_held')
    publish(name, ours)
    expect((await verify(ours.id)).body).toMatchObject({ domain: { state: 'active' } })
    const { body } = await call(`/${theirs.id}`, undefined, other)
    expect(body['domain']).toMatchObject({ state: 'pending', reason: 'taken_over' })
  })

  for (const [method, path] of [
    ['DELETE', ''],
    ['POST', '/delete'],
  ] as const) {
    test(`${method} ${path}: a deleted domain is gone, and its mail is refused`, async () => {
      const { id, domain } = await verified()
      const { headers } = key
      const deleted = await request(`${app.url}/domains/${id}${path}`, { method, headers })
      expect(deleted.body).toEqual({ status: 'success', message: 'Domain deleted.' })
      expect((await call(`/${id}`)).status).toBe(404)
      expect(await app.mail(`anybody@${domain}`)).toBe(550)
    })
  }

  test('a missing record of an active domain is a warning, also in /usage', async () => {
    const { id, domain } = await verified()
    publish(String(domain))
    expect((await verify(id)).status).toBe(409)
    const { body } = await call('')
    expect(body).toMatchObject({
      domains: [{ state: 'active', reason: 'record_missing' }],
      warnings: [{ code: 'record_missing', domain }],
    })
    const [{ missing_since: since, suspends_at: at }] = body['domains'] as [DomainJson]
    expect(Date.parse(`${at}Z`) - Date.parse(`${since}Z`)).toBe(7 * 86_400_000)
    const usage = await request(`${app.url}/usage`, { headers: key.headers })
    expect(usage.body).toMatchObject({
      domains: { limit: 3, used: 1 },
      warnings: [{ code: 'record_missing', domain, at }],
    })
  })
})

describe('400 invalid_domain', () => {
  for (const [domain, why] of [
    ['co.uk', 'public suffix'],
    ['192.0.2.1', 'IP address'],
    ['[IPv6:2001:db8::1]', 'IP address'],
    ['*.corp.test', 'wildcard'],
    ['corp', 'one label'],
    [`${'a'.repeat(64)}.test`, '63'],
    ['a b.test', 'give a name'],
  ] as const) {
    test(domain.slice(0, 20), async () => {
      const response = await call('', { domain })
      expectProblem(response, 400, 'invalid_domain')
      expect(response.body['message']).toContain(why)
      expect((await call('')).body['domains']).toEqual([])
    })
  }

  test('a name with a CNAME record cannot be verified', async () => {
    const name = newName()
    const claim = await add(name)
    publish(name, claim)
    dns.zone[`CNAME ${name}`] = ['shop.test']
    const response = await verify(claim.id)
    expectProblem(response, 400, 'invalid_domain')
    expect((await call(`/${claim.id}`)).body).toMatchObject({ domain: { state: 'pending' } })
  })
})

test('400: domain and catch_all are required', async () => {
  expectProblem(await call('', {}), 400, 'missing_parameter')
  const { id } = await add(newName())
  expectProblem(await call(`/${id}`, {}), 400, 'missing_parameter')
})

describe('401 and 402', () => {
  test('without a valid key', async () => {
    const response = await call('', undefined, { ...key, headers: {} })
    expectProblem(response, 401, 'invalid_key')
  })

  test('a stopped key is invalid', async () => {
    const stopped = await app.ring.issueRefunded()
    expectProblem(await call('', undefined, stopped), 401, 'invalid_key')
  })

  test('a used-up key lists, verifies and deletes, but does not add', async () => {
    const name = newName()
    const claim = await add(name)
    publish(name, claim)
    const shop = app.ring.shop
    for (let left = 1_000; left > 0; left -= 1) await shop.chargeRequest(key.id, app.now())
    const added = await call('', { domain: newName() })
    expectProblem(added, 402, 'quota_exhausted')
    expect((await call('')).status).toBe(200)
    expect((await verify(claim.id)).status).toBe(200)
    expect((await call(`/${claim.id}/delete`, {})).status).toBe(200)
  })
})

test('404: a domain of another key looks like none', async () => {
  const { id } = await verified()
  for (const path of [`/${id}`, '/dom_none']) {
    const response = await call(path, undefined, other)
    expectProblem(response, 404, 'domain_not_found')
  }
  for (const action of ['/verify', '/delete', '']) {
    const response = await call(`/${id}${action}`, { catch_all: '0' }, other)
    expectProblem(response, 404, 'domain_not_found')
  }
  expect((await call(`/${id}`)).body).toMatchObject({ domain: { catch_all: true } })
})

describe('409', () => {
  for (const domain of [
    'box.test',
    'sub.box.test',
    'mx.host.test',
    'a.mx.host.test',
    'page.test',
  ]) {
    test(`domain_reserved: ${domain}`, async () => {
      const response = await call('', { domain })
      expectProblem(response, 409, 'domain_reserved')
    })
  }

  test('domain_exists: the key has it already', async () => {
    const name = newName()
    await add(name)
    const response = await call('', { domain: name })
    expectProblem(response, 409, 'domain_exists')
  })

  test('domain_limit: the plan allows no more', async () => {
    await add(newName(), other)
    const response = await call('', { domain: newName() }, other)
    expectProblem(response, 409, 'domain_limit')
  })

  test('record_missing says what is there, without its bytes', async () => {
    const name = newName()
    const { id } = await add(name)
    dns.zone[`TXT _mayfly.${name}`] = ['\xff\x00<script>']
    const response = await verify(id)
    expectProblem(response, 409, 'record_missing')
    expect(response.body['message']).toMatch(/_mayfly\.corp.*1 with other values/)
  })
})

test('429: a key verifies ten times a minute', async () => {
  const { id } = await add(newName())
  const verifyFrom = (ip: string) =>
    request(`${app.url}/domains/${id}/verify`, {
      method: 'POST',
      headers: { ...key.headers, 'x-forwarded-for': ip },
    })
  const statuses: number[] = []
  for (let at = 0; at < 11; at += 1) statuses.push((await verifyFrom(`192.0.2.${at}`)).status)
  expect(statuses).toEqual([...Array(10).fill(409), 429])
})

test('503 dns_failed: name servers that fail decide nothing', async () => {
  const name = newName()
  const theirs = await verified(name, other)
  const ours = await add(name)
  dns.zone[`TXT _mayfly.${name}`] = 'SERVFAIL'
  const response = await verify(ours.id)
  expectProblem(response, 503, 'dns_failed')
  expect(response.headers.get('retry-after')).toBe('30')
  expect((await verify(theirs.id, other)).status).toBe(503)
  const { body } = await call(`/${theirs.id}`, undefined, other)
  expect(body['domain']).toMatchObject({ state: 'active', reason: 'not_checked' })
})
