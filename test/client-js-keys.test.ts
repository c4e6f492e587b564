import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Mayfly, verifyWebhook } from '../clients/js/src/mayfly.ts'
import { openDnsServer } from './kit/dns/dns-server.ts'
import { caught, codeOf } from './kit/http/client-errors.ts'
import { openReceiver } from './kit/http/webhook-receiver.ts'
import { type AppWithKeys, startAppWithKeys } from './kit/shop/keys.ts'
import { waitUntil } from './kit/wait-until.ts'

// What the JavaScript client does with a key.

let app: AppWithKeys
let dns: Awaited<ReturnType<typeof openDnsServer>>
beforeAll(async () => {
  dns = await openDnsServer({
    'A ns.test': ['127.0.0.1'],
    'NS corp.test': ['ns.test'],
    'SOA corp.test': ['ns.test'],
  })
  app = await startAppWithKeys({
    env: {
      MAYFLY_WEBHOOK_ALLOW: '127.0.0.1',
      MAYFLY_READER_POOL: 'by-address',
      MAYFLY_OWN_DOMAINS: 'keys',
      MAYFLY_OWN_DOMAIN_DNS: dns.server,
      MAYFLY_DNS: dns.server,
    },
  })
})
afterAll(async () => {
  await app.stop()
  await dns.close()
})

async function clientWithKey(): Promise<Mayfly> {
  const { secret } = await app.ring.issue()
  return new Mayfly({ url: app.url, apiKey: secret })
}

async function send(to: string, subject: string, text = 'Hi.'): Promise<void> {
  const raw = `From: ann@sender.test\r\nSubject: ${subject}\r\n\r\n${text}\r\n`
  expect(await app.mail(to, raw)).toBe(250)
}

test('emails returns the mail of mailboxes created with the key, page by page', async () => {
  const keyed = await clientWithKey()
  const mailbox = await keyed.createMailbox()
  for (const subject of ['one', 'two', 'three']) await send(mailbox.email, subject)
  const { emails, cursor } = await keyed.emails({ to: mailbox.email, limit: 2 })
  expect(emails.map(({ subject, address }) => [subject, address])).toStrictEqual([
    ['three', mailbox.email],
    ['two', mailbox.email],
  ])
  expect.assert(cursor)
  const rest = await keyed.emails({ to: mailbox.email, limit: 2, cursor })
  expect([rest.emails.map(({ subject }) => subject), rest.cursor]).toStrictEqual([
    ['one'],
    undefined,
  ])
  expect(codeOf(await caught(new Mayfly({ url: app.url }).emails()))).toBe('invalid_key')
  const wrong = new Mayfly({ url: app.url, apiKey: 'mf_live_wrong' })
  expect(codeOf(await caught(wrong.emails()))).toBe('invalid_key')
})

const REPORT = [
  'From: ann@sender.test',
  'Subject: Report',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b\r\nContent-Type: text/html\r\n\r\n<p>Your code is <b>493027</b>.</p>',
  '--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=r.pdf',
  'Content-Transfer-Encoding: base64\r\n\r\nAAEC/w==',
  '--b--\r\n',
].join('\r\n')

test('an email is read in full by its id and address, or as it was listed', async () => {
  const keyed = await clientWithKey()
  // Mail of the pool, which this operator returns only with its exact address.
  const to = 'report@pool.test'
  expect(await app.mail(to, REPORT)).toBe(250)
  const search = () => keyed.emails({ to, q: '493027' })
  await waitUntil(async () => !(await search()).incomplete)
  const [listed] = (await search()).emails
  expect.assert(listed)
  const { used } = await keyed.usage()
  const email = await keyed.readEmail(listed)
  expect(email.body_html).toMatch('<b>493027</b>')
  expect(email.codes.map(({ value }) => value)).toStrictEqual(['493027'])
  expect(email.attachments.map(({ filename }) => filename)).toStrictEqual(['r.pdf'])
  expect(await keyed.readEmail(listed.id, { to })).toStrictEqual(email)
  expect(new TextDecoder().decode(await keyed.rawEmail(email))).toMatch(/\r\nAAEC\/w==\r\n--b--/)
  expect([...(await keyed.emailAttachment(email, 0))]).toStrictEqual([0, 1, 2, 255])
  expect(codeOf(await caught(keyed.readEmail(listed.id)))).toBe('message_not_found')
  expect((await keyed.usage()).used).toBe(used + 4)
})

test('sessions lists the mailboxes of the key page by page, recovers one and ends one', async () => {
  const keyed = await clientWithKey()
  const first = await keyed.createMailbox({ label: 'first', max_messages: 3 })
  const second = await keyed.createMailbox()
  await send(first.email, 'Hi')
  const page = await keyed.sessions.list({ limit: 1 })
  expect(page.sessions.map(({ email }) => email)).toStrictEqual([second.email])
  expect.assert(page.cursor)
  const rest = await keyed.sessions.list({ cursor: page.cursor })
  expect(rest.cursor).toBeUndefined()
  expect(rest.sessions).toMatchObject([
    { email: first.email, label: 'first', messages: 1, rules: { max_messages: 3 } },
  ])

  const recovered = await keyed.sessions.rollToken(first.email)
  expect([recovered.email, recovered.expiresAt]).toStrictEqual([first.email, first.expiresAt])
  expect((await recovered.waitForMessage()).subject).toBe('Hi')
  expect(codeOf(await caught(first.messages()))).toBe('invalid_token')

  await keyed.sessions.end(second.email)
  expect(codeOf(await caught(second.messages()))).toBe('invalid_token')
  const others = await clientWithKey()
  expect(codeOf(await caught(others.sessions.end(first.email)))).toBe('session_not_found')
  expect((await keyed.usage()).used).toBe(0)
})

test('a domain is added, verified, changed and deleted, and has addresses that stay', async () => {
  const keyed = await clientWithKey()
  const { ownDomains } = keyed
  const added = await ownDomains.add('corp.test')
  const { id, records } = added
  expect(records.map(({ type, name }) => [type, name])).toStrictEqual([
    ['TXT', '_mayfly.corp.test'],
    ['MX', 'corp.test'],
  ])
  expect(await ownDomains.read(id)).toStrictEqual(added)
  expect(codeOf(await caught(ownDomains.verify(id)))).toBe('record_missing')

  dns.zone['TXT _mayfly.corp.test'] = records.slice(0, 1).map(({ value }) => value)
  expect((await ownDomains.verify(id)).state).toBe('active')
  expect((await ownDomains.update(id, { catch_all: false })).catch_all).toBe(false)
  const other = await keyed.createMailbox()
  const shop = await keyed.createMailbox({ domain: 'corp.test', prefix: 'shop', ttl: 0 })
  const { sessions } = await keyed.sessions.list({ permanent: true })
  expect(sessions.map(({ email }) => email)).toStrictEqual([shop.email])

  expect((await ownDomains.list()).map((one) => one.id)).toStrictEqual([id])
  await ownDomains.delete(id)
  expect(codeOf(await caught(ownDomains.read(id)))).toBe('domain_not_found')
  expect(codeOf(await caught(shop.messages()))).toBe('invalid_token')
  expect(await other.messages()).toStrictEqual([])
})

test('webhooks are created, tested, listed, changed and deleted, and usage counts what they deliver', async () => {
  const keyed = await clientWithKey()
  const mailbox = await keyed.createMailbox()
  const receiver = await openReceiver()
  onTestFinished(receiver.close)
  const webhook = await keyed.webhooks.create({ url: receiver.url, to: mailbox.email })
  const { id, secret } = webhook

  expect((await keyed.webhooks.test(id)).status).toBe(200)
  const [{ headers = {}, body = '' } = {}] = receiver.received
  const event = await verifyWebhook({ headers, body, secret })
  expect.assert(event.type === 'webhook.test')
  expect(event.data.webhook_id).toBe(id)

  await send(mailbox.email, 'Sign in', 'Your code is 493027.')
  await waitUntil(() => receiver.received.length === 2)
  const delivered = receiver.received[1]
  expect.assert(delivered)
  const received = await verifyWebhook({ ...delivered, secret })
  expect.assert(received.type === 'message.received')
  expect([received.data.code, received.data.address]).toStrictEqual(['493027', mailbox.email])
  await waitUntil(async () => (await keyed.webhooks.deliveries(id)).length === 1)
  expect((await keyed.usage()).used).toBe(1)

  await keyed.webhooks.replay(id, { since_id: 0 })
  await waitUntil(() => receiver.received.length === 3)
  expect((await keyed.webhooks.rollSecret(id)).secret).not.toBe(secret)
  expect((await keyed.webhooks.enable(id)).state).toBe('active')
  expect((await keyed.webhooks.read(id)).url).toBe(receiver.url)
  expect((await keyed.webhooks.list()).map((one) => one.id)).toStrictEqual([id])

  const changed = await keyed.webhooks.update(id, {
    url: `${receiver.url}/new`,
    from: 'shop.test',
    clear: ['to'],
    state: 'paused',
  })
  expect(changed).toMatchObject({
    url: `${receiver.url}/new`,
    to: null,
    from: 'shop.test',
    state: 'paused',
  })
  expect((await keyed.webhooks.update(id, { state: 'active' })).state).toBe('active')

  await keyed.webhooks.delete(id)
  expect(codeOf(await caught(keyed.webhooks.read(id)))).toBe('webhook_not_found')
  expect(codeOf(await caught(new Mayfly({ url: app.url }).webhooks.list()))).toBe('invalid_key')
})
