import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cursorOf } from '../src/keys/api/emails.ts'
import { OPERATOR } from '../src/mail/rules/session.ts'
import { openDnsServer } from './kit/dns/dns-server.ts'
import { checkMail, emailsOf } from './kit/http/api-client.ts'
import { post, request, type TestResponse } from './kit/http/http-client.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from './kit/shop/keys.ts'
import { runSql } from './kit/store/sql.ts'

const DAY = 86_400
const MAX_ID = Number.MAX_SAFE_INTEGER

let app: AppWithKeys
/** The name server of all domains of keys. */
let dns: Awaited<ReturnType<typeof openDnsServer>>
let ann: TestKey
let bob: TestKey
beforeAll(async () => {
  dns = await openDnsServer({ 'A ns.test': ['127.0.0.1'] })
  const ownDomains = {
    MAYFLY_OWN_DOMAINS: 'keys',
    MAYFLY_OWN_DOMAIN_DNS: dns.server,
    MAYFLY_DNS: dns.server,
  }
  app = await startAppWithKeys({
    env: { MAYFLY_HTTP_THREADS: '2', MAYFLY_SESSION_MAX_TTL: '30d', ...ownDomains },
  })
  ann = await app.ring.issue({ requests: 100_000, domains: 9 })
  bob = await app.ring.issue({ requests: 100_000, domains: 9 })
})
afterAll(async () => {
  const results = await Promise.allSettled(longPolls.map(({ checked }) => checked))
  await app.stop()
  await dns.close()
  const faults = results.flatMap((result, at) =>
    result.status === 'rejected' ? [`${longPolls[at]?.test}: ${result.reason}`] : [],
  )
  expect(faults).toStrictEqual([])
})

const read = (
  key: TestKey,
  query = '',
  headers: Record<string, string> = {},
): Promise<TestResponse> =>
  request(`${app.url}/emails?${query}`, { headers: { ...key.headers, ...headers } })
const one = (key: TestKey, path: string): Promise<TestResponse> =>
  request(`${app.url}/emails/${path}`, { headers: key.headers })
const subjects = async (key: TestKey, query = '') =>
  emailsOf(await read(key, query)).map(({ subject }) => subject)
const send = (to: string | string[], subject: string) =>
  app.mail(to, `Subject: ${subject}\r\nTo: ${[to].flat().join(', ')}\r\n\r\n${subject}\r\n`)

/** At pool.test, where mail for an address without a session goes to the pool. */
const session = (prefix: string, key?: TestKey) =>
  app.session({ prefix, domain_id: '2' }, key?.headers ?? {})

interface KnownMail {
  address: string
  ids: number[]
  etags: string[]
}

/** Checks of the long polls that assertHidden makes. They all wait at the same time; afterAll collects them. */
const longPolls: { test: string | undefined; checked: Promise<void> }[] = []

/** No response to any query that this key can make about that mail, given what its owner knows, matches. */
async function assertHidden(key: TestKey, { address, ids, etags }: KnownMail, hidden: RegExp) {
  const [local = '', host = ''] = address.split('@')
  const spellings = [
    address,
    address.toUpperCase(),
    `Me <${address}>`,
    `${local}@${host.toUpperCase()}`,
  ]
  const queries = [
    '',
    'limit=500',
    'q=canary',
    `to=${address}&q=canary`,
    ...spellings.map((to) => `to=${encodeURIComponent(to)}`),
    ...ids.flatMap((id) => [
      `since_id=${id - 1}`,
      `since_id=${id - 1}&limit=1`,
      `cursor=${cursorOf(id + 1)}`,
      `to=${address}&since_id=${id - 1}`,
      `to=${address}&cursor=${cursorOf(id + 1)}`,
    ]),
    `cursor=${cursorOf(MAX_ID)}`,
  ]
  for (const id of ids) {
    const response = read(key, `to=${address}&since_id=${id - 1}&wait=1`)
    const checked = response.then((one) => assertShowsNone(one, hidden))
    checked.catch(() => {})
    longPolls.push({ test: expect.getState().currentTestName, checked })
  }
  const responses = await Promise.all(queries.map((query) => read(key, query)))
  for (const etag of etags) {
    const response = await read(key, `to=${address}`, { 'if-none-match': etag })
    expect(response.status, 'a tag of somebody else says nothing').toBe(200)
    responses.push(response)
  }
  for (const response of responses) assertShowsNone(response, hidden)
  await assertNotFound(key, ids, ['', `?to=${address}`])
}

const NOT_FOUND = {
  status: 'error',
  message: 'There is no such message or attachment.',
  code: 'message_not_found',
}

/** Each message gets the response that an id gets which nobody has. */
async function assertNotFound(key: TestKey, ids: number[], queries: string[]) {
  const parts = ['', '/raw', '/attachments/0', '/attachments/9']
  const paths = parts.flatMap((part) => queries.map((query) => part + query))
  for (const path of paths) {
    const responses = await Promise.all([MAX_ID, ...ids].map((id) => one(key, `${id}${path}`)))
    for (const { status, headers, body } of responses) {
      const { request_id: _, ...rest } = body
      expect([status, rest], path).toStrictEqual([404, NOT_FOUND])
      expect([...headers.keys()], path).toStrictEqual([...(responses[0]?.headers.keys() ?? [])])
    }
  }
}

/** Fails on an error response too, which would prove nothing. */
function assertShowsNone(response: TestResponse, hidden: RegExp): void {
  expect(JSON.stringify(emailsOf(response))).not.toMatch(hidden)
}

/** What the owner of the mail knows about it, and another key might guess. */
async function detailsOf(owner: TestKey, address: string): Promise<KnownMail> {
  const response = await read(owner, `to=${address}`)
  const ids = emailsOf(response).map(({ id }) => id)
  expect(ids.length, 'its owner sees the mail').toBeGreaterThan(0)
  for (const id of ids) expect((await one(owner, `${id}/raw`)).status).toBe(200)
  return {
    address,
    ids,
    etags: [response.headers.get('etag') ?? ''],
  }
}

describe('a session created with a key', () => {
  test('can be read with this key and its token, and with no other key', async () => {
    const { email, token } = await session('of-ann', ann)
    expect(await send(email, 'canary-ann')).toBe(250)
    expect(await subjects(ann, `to=${email}`)).toStrictEqual(['canary-ann'])
    expect((await checkMail(app.url, token)).length).toBe(1)
    await assertHidden(bob, await detailsOf(ann, email), /canary-ann|of-ann/)
  })

  test('cannot be read with other keys after its key is revoked', async () => {
    const revoked = await app.ring.issue()
    const { email, token } = await session('of-gone', revoked)
    await send(email, 'canary-gone')
    const about = await detailsOf(revoked, email)
    await app.ring.shop.revokeKey(revoked.id)
    expect((await read(revoked)).status).toBe(401)
    for (const key of [ann, bob]) {
      await assertHidden(key, about, /canary-gone|of-gone/)
    }
    expect((await checkMail(app.url, token)).length, 'its token opens it still').toBe(1)
  })
})

describe('a domain that a key holds', () => {
  const call = (key: TestKey, path: string, params: Record<string, string> = {}) =>
    request(`${app.url}/domains${path}`, {
      ...{ method: 'POST', headers: key.headers, body: new URLSearchParams(params) },
    })
  /** Its record replaces that of another key. */
  async function hold(key: TestKey, domain: string): Promise<string> {
    const { body } = await call(key, '', { domain })
    const { id, records } = body as { id: string; records: { value: string }[] }
    Object.assign(dns.zone, {
      ...{ [`NS ${domain}`]: ['ns.test'], [`SOA ${domain}`]: ['ns.test'] },
      [`TXT _mayfly.${domain}`]: [records[0]?.value ?? ''],
    })
    const { status, text } = await call(key, `/${id}/verify`)
    expect(status, text).toBe(200)
    return id
  }
  const create = (key: TestKey | undefined, domain: string, prefix: string, ttl = '0') =>
    request(`${app.url}/api/create-session`, {
      ...{ method: 'POST', headers: key?.headers ?? {} },
      body: new URLSearchParams({ domain, prefix, ttl }),
    })
  test('has its mail, and gives addresses, for this key alone', async () => {
    await hold(ann, 'held.test')
    for (const key of [bob, undefined]) {
      const { body } = await create(key, 'held.test', 'of-bob', '60')
      expect(body['code']).toBe('unknown_domain')
    }
    const { text: listed } = await request(`${app.url}/api/domains`)
    expect(listed).not.toMatch('held.test')
    const token = String((await create(ann, 'held.test', 'kept')).body['token'])
    for (const local of ['kept', 'any', 'postmaster', 'of-bob']) {
      const address = `${local}@held.test`
      expect(await send(address, 'canary-held')).toBe(250)
      expect(await subjects(ann, `to=${address}`)).toStrictEqual(['canary-held'])
      await assertHidden(bob, await detailsOf(ann, address), /canary-held|held\.test/)
    }
    expect((await checkMail(app.url, token)).length).toBe(1)
  })

  test.each(['taken over', 'deleted'])(
    '%s: shows former mail to nobody, and later mail to its holder',
    async (how) => {
      const domain = `${how.replace(' ', '-')}.test`
      const id = await hold(ann, domain)
      const token = String((await create(ann, domain, 'kept')).body['token'])
      const addresses = ['kept', 'any'].map((local) => `${local}@${domain}`)
      for (const address of addresses) expect(await send(address, 'canary-own-before')).toBe(250)
      const about = await Promise.all(addresses.map((address) => detailsOf(ann, address)))
      if (how === 'deleted') expect((await call(ann, `/${id}/delete`)).status).toBe(200)
      else await hold(bob, domain)
      const { body } = await request(`${app.url}/api/check-mail?token=${token}`)
      expect(body['code']).toBe('invalid_token')
      expect((await post(`${app.url}/api/extend-session`, { token })).status).toBe(401)
      for (const one of about) {
        for (const key of [ann, bob]) await assertHidden(key, one, /canary-own-before/)
      }
      if (how === 'deleted') await hold(bob, domain)
      expect(await send(`kept@${domain}`, 'canary-own-after'), 'it cools down').toBe(550)
      expect(await send(`any@${domain}`, 'canary-own-after')).toBe(250)
      await assertHidden(ann, await detailsOf(bob, `any@${domain}`), /canary-own/)
      expect(await subjects(bob, `to=any@${domain}`)).toStrictEqual(['canary-own-after'])
    },
  )
})

test('a session created without a key cannot be read with any key, even at a pool domain', async () => {
  const { email, token } = await session('of-nobody')
  expect(await send(email, 'canary-nobody')).toBe(250)
  const [{ id = 0 } = {}] = await checkMail(app.url, token)
  for (const key of [ann, bob]) {
    const about = { address: email, ids: [id], etags: [] }
    await assertHidden(key, about, /canary-nobody|of-nobody/)
  }
})

test('the pool can be read with every key', async () => {
  const to = 'anybody@pool.test'
  expect(await send(to, 'shared')).toBe(250)
  for (const key of [ann, bob]) expect(await subjects(key, `to=${to}`)).toStrictEqual(['shared'])
})

test('mail for the operator is in no list', async () => {
  for (const to of ['postmaster@pool.test', 'abuse@pool.test']) {
    expect(await send(to, 'canary-operator')).toBe(250)
    const newest = `select max(id) as id from message where mailbox = ${OPERATOR}`
    const [{ id }] = (await runSql(app, 'mail', newest)) as [{ id: number | string }]
    const about = { address: to, ids: [Number(id)], etags: [] }
    await assertHidden(ann, about, /canary-operator/)
  }
})

test('each recipient of a mail sees its own record only, and other recipients only in the mail itself', async () => {
  const [mine, theirs] = [await session('many-ann', ann), await session('many-bob', bob)]
  const plain = await session('many-nobody')
  const pooled = 'many-pool@pool.test'
  const all = [mine.email, theirs.email, plain.email, pooled]
  const raw = `Subject: to many\r\nTo: ${all.join(', ')}\r\n\r\nx\r\n`
  expect(await app.mail(all, raw)).toBe(250)
  const recipients = async (key: TestKey) =>
    emailsOf(await read(key))
      .filter(({ subject }) => subject === 'to many')
      .map(({ to }) => to)
      .toSorted()
  expect(await recipients(ann)).toStrictEqual([mine.email, pooled].toSorted())
  expect(await recipients(bob)).toStrictEqual([theirs.email, pooled].toSorted())
  expect((await read(ann)).text).not.toMatch(/many-bob|many-nobody/)
})

describe('an address in the pool for which a session is created', () => {
  test('earlier mail stays in the pool, later mail does not enter it', async () => {
    const to = 'claimed@pool.test'
    await send(to, 'before')
    const { email, token } = await session('claimed', ann)
    expect(email).toBe(to)
    await send(to, 'canary-after')
    const own = (await checkMail(app.url, token)).map(({ subject }) => subject)
    expect(own, 'its owner sees nothing of before').toStrictEqual(['canary-after'])
    expect(await subjects(bob, `to=${to}`)).toStrictEqual(['before'])
    const { ids, ...about } = await detailsOf(ann, to)
    await assertHidden(bob, { ...about, ids: ids.slice(0, 1) }, /canary-after/)
    expect(await subjects(ann, `to=${to}`)).toStrictEqual(['canary-after', 'before'])
  })
})

describe('a session that has ended', () => {
  const ways = [
    [
      'by deletion',
      ({ token }: { token: string }) => post(`${app.url}/api/delete-session`, { token }),
    ],
    ['by expiry', async () => app.moveClock(DAY)],
  ] as const

  for (const [at, [name, end]] of ways.entries()) {
    test(`${name}: its mail is gone at once, late mail is rejected and never pooled`, async () => {
      const { email, token } = await session(`over-${at}`, ann)
      await send(email, 'canary-over')
      const about = await detailsOf(ann, email)
      expect(about.ids.length).toBe(1)
      await end({ token })
      expect(await send(email, 'canary-late')).toBe(550)
      for (const key of [ann, bob]) {
        await assertHidden(key, about, /canary-over|canary-late/)
      }
      // After the cool-down the address is free, but still not in the pool.
      app.moveClock(40 * DAY)
      expect(await send(email, 'canary-later')).toBe(550)
      for (const key of [ann, bob]) {
        await assertHidden(key, about, /canary-(over|late)/)
      }
    })
  }

  test('shows the key of the next owner no earlier mail, and the previous key no later mail', async () => {
    const previous = await session('handed-on', ann)
    await send(previous.email, 'canary-former')
    const about = await detailsOf(ann, previous.email)
    app.moveClock(40 * DAY)
    const next = await session('handed-on', bob)
    expect(next.email).toBe(previous.email)
    await send(next.email, 'canary-next')
    expect(await subjects(bob, `to=${next.email}`)).toStrictEqual(['canary-next'])
    await assertHidden(bob, about, /canary-former/)
    const since = await detailsOf(bob, next.email)
    await assertHidden(ann, since, /canary-next|canary-former/)
  })

  test('is revived for its owner and its key, empty, and for no other key', async () => {
    const { email, token } = await session('comes-back', ann)
    await send(email, 'canary-first')
    const about = await detailsOf(ann, email)
    app.moveClock(DAY + 1)
    expect((await post(`${app.url}/api/extend-session`, { token })).status).toBe(200)
    await assertHidden(ann, about, /canary-first/)
    expect(await send(email, 'canary-second')).toBe(250)
    expect(await subjects(ann, `to=${email}`)).toStrictEqual(['canary-second'])
    await assertHidden(bob, await detailsOf(ann, email), /canary-(first|second)/)
  })
})
