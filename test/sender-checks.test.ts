import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { openDnsServer } from './kit/dns/dns-server.ts'
import { checkMail } from './kit/http/api-client.ts'
import { rsaKey, signed } from './kit/mail/signed.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { waitUntil } from './kit/wait-until.ts'

const rsa = rsaKey()
const MINUTE = 60
const HERE = ['v=spf1 ip4:127.0.0.1 -all']

let dns: Awaited<ReturnType<typeof openDnsServer>>
let app: App
beforeAll(async () => {
  dns = await openDnsServer({})
  app = await startApp({
    env: { MAYFLY_AUTH_CHECKS: 'on', MAYFLY_DNS: dns.server },
    // Responses wait for the checks as long as they take.
    resultWaitMs: 60_000,
  })
})
afterAll(async () => {
  await app.stop()
  await dns.close()
})

interface Auth {
  spf: string
  dkim: string
  dmarc: string
}

/** Each test has its own domain, because DNS responses are cached. */
function domain(name: string): string {
  dns.zone[`TXT ${name}`] = HERE
  dns.zone[`TXT _dmarc.${name}`] = ['v=DMARC1; p=reject']
  dns.zone[`TXT s1._domainkey.${name}`] = [rsa.record]
  return name
}

const rawMailFrom = (author: string) =>
  `From: Ann <${author}>\r\nSubject: Hello\r\n\r\nYour code is 123456.\r\n`

async function receive(raw: string, from: string, by = app) {
  const box = await by.session()
  const client = await connectSmtp(by.smtpPort)
  expect((await client.send({ to: [box.email], raw, from })).code).toBe(250)
  client.close()
  return box
}

async function readAuth({ token }: { token: string }, by = app): Promise<Auth | null> {
  const [newest] = await checkMail(by.url, token)
  const response = await fetch(`${by.url}/api/read-mail?token=${token}&id=${newest?.id}`)
  expect(response.status).toBe(200)
  return ((await response.json()) as { message: { auth: Auth | null } }).message.auth
}

test('read-mail returns the result of SPF, DKIM and DMARC', async () => {
  const own = domain('own.test')
  const mail = await signed(rawMailFrom(`ann@${own}`), rsa, { signingDomain: own })
  const box = await receive(mail, `ann@${own}`)
  expect(await readAuth(box)).toStrictEqual({ spf: 'pass', dkim: 'pass', dmarc: 'pass' })
})

test('DMARC fails if the mail was sent by another domain than its author’s', async () => {
  const [bank, evil] = [domain('bank.test'), domain('evil.test')]
  const box = await receive(rawMailFrom(`ceo@${bank}`), `x@${evil}`)
  expect(await readAuth(box)).toStrictEqual({ spf: 'pass', dkim: 'none', dmarc: 'fail' })
})

test('DMARC fails if the mail has two authors, whichever is displayed', async () => {
  const [bank, evil] = [domain('bank.test'), domain('evil.test')]
  const taken = await signed(rawMailFrom(`ceo@${bank}`), rsa, { signingDomain: bank })
  const box = await receive(`From: x@${evil}\r\n${taken}`, `x@${evil}`)
  // The signature is valid for the second From, which is not the one displayed: a repeated header proves nothing.
  expect(await readAuth(box)).toStrictEqual({ spf: 'pass', dkim: 'neutral', dmarc: 'fail' })
})

test('the result is stored: reading the mail again sends no DNS queries', async () => {
  const once = domain('once.test')
  const box = await receive(rawMailFrom(`ann@${once}`), `ann@${once}`)
  const auth = await readAuth(box)
  expect(auth?.dmarc).toBe('pass')
  const queries = dns.asked.length
  dns.zone[`TXT ${once}`] = 'SERVFAIL'
  app.moveClock(10 * MINUTE)
  expect(await readAuth(box)).toStrictEqual(auth)
  expect(dns.asked.length).toBe(queries)
})

test('the check is repeated after a temporary DNS error', async () => {
  const late = domain('late.test')
  dns.zone[`TXT ${late}`] = 'SERVFAIL'
  const box = await receive(rawMailFrom(`ann@${late}`), `ann@${late}`)
  const open = { spf: 'temperror', dkim: 'none', dmarc: 'temperror' }
  expect(await readAuth(box)).toStrictEqual(open)
  dns.zone[`TXT ${late}`] = HERE
  expect(await readAuth(box)).toStrictEqual(open)
  app.moveClock(2 * MINUTE)
  expect(await readAuth(box)).toStrictEqual({ spf: 'pass', dkim: 'none', dmarc: 'pass' })
})

test('no DNS query is sent before the mail is first listed or read', async () => {
  const queries = dns.asked.length
  const quiet = domain('quiet.test')
  const box = await receive(rawMailFrom(`ann@${quiet}`), `ann@${quiet}`)
  expect(dns.asked.length).toBe(queries)
  await checkMail(app.url, box.token)
  await waitUntil(() => dns.asked.includes(`TXT ${quiet}`))
})

test('with checks switched off there is no result and no DNS query', async () => {
  const off = await startApp({
    env: { MAYFLY_AUTH_CHECKS: 'off', MAYFLY_DNS: dns.server },
    resultWaitMs: 60_000,
  })
  try {
    const queries = dns.asked.length
    const name = domain('off.test')
    const box = await receive(rawMailFrom(`ann@${name}`), `ann@${name}`, off)
    expect(await readAuth(box, off)).toBe(null)
    expect(dns.asked.length).toBe(queries)
  } finally {
    await off.stop()
  }
})
