import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDnsServer } from './kit/dns/knot.ts'
import { request } from './kit/http/http-client.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from './kit/shop/keys.ts'

// Domains of key holders with a real name server (Knot DNS) and real SMTP, as their holders use them.

const ROOT = ['ns.test. 60 IN A 127.0.0.1']

let dns: Awaited<ReturnType<typeof openDnsServer>>
let app: AppWithKeys
let ann: TestKey
let bob: TestKey
beforeAll(async () => {
  const zones = { 'first.test': [], 'second.test': ['second.test. 60 IN A 192.0.2.1'] }
  dns = await openDnsServer(ROOT, { zones })
  app = await startAppWithKeys({
    env: {
      MAYFLY_OWN_DOMAINS: 'keys',
      MAYFLY_DNS: dns.server,
      MAYFLY_OWN_DOMAIN_DNS: dns.server,
      MAYFLY_SMTP_HOSTNAME: 'mx.host.test',
    },
  })
})
afterAll(async () => {
  await app.stop()
  dns.close()
})
beforeEach(async () => {
  ann = await app.ring.issue({ domains: 3 })
  bob = await app.ring.issue({ domains: 3 })
})

interface Claim {
  id: string
  records: { type: string; name: string; value: string }[]
}

const call = (key: TestKey, path: string, params?: Record<string, string>) =>
  request(`${app.url}${path}`, {
    headers: key.headers,
    ...(params && { method: 'POST', body: new URLSearchParams(params) }),
  })

async function claim(key: TestKey, domain: string): Promise<Claim> {
  const { status, body, text } = await call(key, '/domains', { domain })
  expect(status, text).toBe(200)
  return body as unknown as Claim
}

/** As the response prints them, with one more text of odd bytes. */
async function publish(domain: string, ...claims: Claim[]): Promise<void> {
  const lines = claims.flatMap(({ records }) =>
    records.map(({ type, name, value }) =>
      type === 'TXT' ? `${name}. 60 IN TXT "${value}"` : `${name}. 60 IN MX ${value}.`,
    ),
  )
  const odd = `_mayfly.${domain}. 60 IN TXT "\\255\\000\\010"`
  await dns.change(ROOT, { [domain]: [...new Set([odd, ...lines])] })
}

const verify = async (key: TestKey, { id }: Claim) => {
  const { status, body } = await call(key, `/domains/${id}/verify`, {})
  return [status, body['code'] ?? (body['domain'] as { state: string }).state]
}

/** Subjects of what a key sees at an address. */
async function subjects(key: TestKey, to: string): Promise<string[]> {
  const { text } = await call(key, `/emails?to=${encodeURIComponent(to)}`)
  const [{ emails }] = JSON.parse(text) as [{ emails: { subject: string }[] }]
  return emails.map(({ subject }) => subject)
}

const mail = (subject: string) => `From: a@b.test\r\nSubject: ${subject}\r\n\r\nHello.\r\n`

test('a domain is claimed, verified, used, taken over and deleted', async () => {
  const anns = await claim(ann, 'first.test')
  expect(await app.mail('any@first.test')).toBe(550)
  expect(await verify(ann, anns)).toEqual([409, 'record_missing'])
  await publish('first.test', anns)
  expect(await verify(ann, anns)).toEqual([200, 'active'])

  // Mail without a session, and a permanent address.
  expect(await app.mail('postmaster@first.test', mail('to nobody'))).toBe(250)
  expect(await subjects(ann, 'postmaster@first.test')).toEqual(['to nobody'])
  expect(await subjects(bob, 'postmaster@first.test')).toEqual([])
  const params = { prefix: 'shop', domain: 'first.test', ttl: '0' }
  const created = await call(ann, '/api/create-session', params)
  expect(created.body).toMatchObject({ email: 'shop@first.test', permanent: true })
  expect((await call(bob, '/api/create-session', params)).body['code']).toBe('unknown_domain')
  expect(await app.mail('shop@first.test', mail('to the shop'))).toBe(250)
  const token = String(created.body['token'])
  const checkMail = () => request(`${app.url}/api/check-mail?token=${token}`)
  expect((await checkMail()).body).toMatchObject({ messages: [{ subject: 'to the shop' }] })

  // Another key needs its own record, and the first one's must be gone.
  const bobs = await claim(bob, 'first.test')
  expect(await verify(bob, bobs)).toEqual([409, 'record_missing'])
  await publish('first.test', anns, bobs)
  expect(await verify(bob, bobs)).toEqual([409, 'domain_held'])
  await publish('first.test', bobs)
  expect(await verify(bob, bobs)).toEqual([200, 'active'])
  expect((await checkMail()).status).toBe(401)
  expect(await subjects(ann, 'postmaster@first.test')).toEqual([])
  expect(await subjects(bob, 'postmaster@first.test')).toEqual([])
  expect(await app.mail('any@first.test', mail('to the new holder'))).toBe(250)
  expect(await subjects(bob, 'any@first.test')).toEqual(['to the new holder'])
  expect(await subjects(ann, 'any@first.test')).toEqual([])

  const listed = await call(bob, '/domains')
  expect(listed.body).toMatchObject({ domains: [{ state: 'active', taken: 1 }] })
  expect((await call(bob, `/domains/${bobs.id}/delete`, {})).status).toBe(200)
  expect(await app.mail('any@first.test')).toBe(550)
})

test('a name below a zone is verified there; an alias and a broken zone are not', async () => {
  const below = await claim(ann, 'test.second.test')
  const alias = await claim(ann, 'www.second.test')
  const broken = await claim(ann, 'broken.test')
  const [txt] = alias.records
  await dns.change(ROOT, {
    'second.test': [
      `${below.records[0]?.name}. 60 IN TXT "${below.records[0]?.value}"`,
      `${txt?.name}. 60 IN TXT "${txt?.value}"`,
      'www.second.test. 60 IN CNAME shop.test.',
    ],
  })
  expect(await verify(ann, below)).toEqual([200, 'active'])
  expect(await verify(ann, alias)).toEqual([400, 'invalid_domain'])
  expect(await verify(ann, broken)).toEqual([503, 'dns_failed'])
  expect(await app.mail('any@test.second.test')).toBe(250)
  expect(await app.mail('any@www.second.test')).toBe(550)
})
