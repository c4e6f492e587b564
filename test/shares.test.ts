import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { connectSmtp, type SmtpClient } from './kit/smtp/smtp-client.ts'

// One sender against all others, with every limit made small. Rate limits are on: the PROXY header names the sender.

const [ATTACKER, OTHER, RELAY] = ['203.0.113.5', '198.51.100.20', '192.0.2.99']
const MAX_MAILS = 80

let app: App
beforeAll(async () => {
  app = await startApp({
    env: {
      MAYFLY_SMTP_PROXY_FROM: '127.0.0.1',
      MAYFLY_SMTP_RELAYS: '192.0.2.96/28',
      MAYFLY_MAX_MESSAGE: '10KB',
      MAYFLY_POOL_BYTES: '200KB',
      MAYFLY_SESSION_MAX_MESSAGES: '40',
      MAYFLY_SMTP_BYTES_PER_HOUR: '600KB',
    },
  })
})
afterAll(() => app.stop())

function connectFrom(ip: string): Promise<SmtpClient> {
  return connectSmtp(app.smtpPort, '127.0.0.1', { proxyFor: ip })
}

/** Addresses of two sessions, which hold 40 mails each. */
async function twoSessions(): Promise<(n: number) => string> {
  const emails = [(await app.session()).email, (await app.session()).email]
  return (n) => emails[Math.floor(n / 40)] ?? ''
}

const RANDOM = () => `Subject: junk\r\n\r\n${randomBytes(6_500).toString('base64')}\r\n`
const REPEATED = () => `Subject: junk\r\n\r\n${'abcdefgh\r\n'.repeat(990)}`
const TINY = () => 'Subject: x\r\n\r\nx\r\n'

/** Sends until a mail is rejected; returns the number accepted and the rejection. */
async function fill(ip: string, to: (n: number) => string, raw: () => string, most = MAX_MAILS) {
  const client = await connectFrom(ip)
  for (let sent = 0; sent < most; sent += 1) {
    const { code, text } = await client.send({ to: [to(sent)], raw: raw() })
    if (code !== 250) {
      client.close()
      return { sent, text }
    }
  }
  client.close()
  return { sent: most, text: '' }
}

async function sendOne(ip: string, to: string, raw = TINY()): Promise<number> {
  const client = await connectFrom(ip)
  const { code } = await client.send({ to: [to], raw })
  client.close()
  return code
}

test('one sender cannot fill the pool', async () => {
  await fill(ATTACKER, (n) => `p${n}@pool.test`, REPEATED, 25)
  expect(await sendOne(OTHER, 'order-4711@pool.test', RANDOM())).toBe(250)
  const { sent, text } = await fill(ATTACKER, (n) => `r${n}@pool.test`, RANDOM)
  expect(text).toMatch(/^452 4\.2\.2/)
  expect(sent > 10 && sent < 20, `${sent} mails`).toBeTruthy()
  expect(await sendOne(OTHER, 'order-4712@pool.test')).toBe(250)
})

test('one sender cannot fill abuse@ and postmaster@', async () => {
  const { sent, text } = await fill('203.0.113.6', () => 'abuse@pool.test', TINY)
  expect(sent, text).toBe(21)
  expect(text).toMatch(/^452 4\.2\.2/)
  expect(await sendOne(OTHER, 'postmaster@box.test')).toBe(250)
  expect(await sendOne(OTHER, 'abuse@pool.test')).toBe(250)
  expect(await sendOne(OTHER, 'abuse@pool.test')).toBe(452)
})

test('one sender cannot fill the disk with mail for sessions', async () => {
  const { sent, text } = await fill('203.0.113.7', await twoSessions(), RANDOM)
  expect(text).toMatch(/^450 4\.7\.1/)
  expect(sent >= 70 && sent <= 73, `${sent} mails`).toBeTruthy()
  const other = await app.session()
  expect(await sendOne(OTHER, other.email)).toBe(250)
})

test('a configured relay has neither rate limits nor shares', async () => {
  expect(await fill(RELAY, await twoSessions(), RANDOM)).toStrictEqual({ sent: 80, text: '' })
  for (let sent = 0; sent < 3; sent += 1) {
    expect(await sendOne(RELAY, 'postmaster@box.test')).toBe(250)
  }
})
