import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { checkMail } from './kit/http/api-client.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { runSql } from './kit/store/sql.ts'

// Addresses that are commonly used to probe for open relays. box.test is ours, and so is pool.test, which accepts any
// address with a valid local part.

const NO_RELAY = /^550 5\.7\.1 /
const NOBODY = /^550 5\.1\.1 /
const SENDER = 'spam@sender.test'

const PROBES = [
  ['', 'u@foreign.test', NO_RELAY],
  [SENDER, 'u@foreign.test', NO_RELAY],
  ['user@box.test', 'u@foreign.test', NO_RELAY],
  ['user@[127.0.0.1]', 'u@foreign.test', NO_RELAY],
  [SENDER, 'u%foreign.test@[127.0.0.1]', NO_RELAY],
  [SENDER, 'u%foreign.test@box.test', NOBODY],
  [SENDER, '"u@foreign.test"', NO_RELAY],
  [SENDER, '"u%foreign.test"', NO_RELAY],
  [SENDER, 'u@foreign.test@[127.0.0.1]', NO_RELAY],
  [SENDER, '"u@foreign.test"@[127.0.0.1]', NO_RELAY],
  [SENDER, 'u@foreign.test@box.test', NOBODY],
  [SENDER, '@[127.0.0.1]:u@foreign.test', NO_RELAY],
  [SENDER, '@box.test:u@foreign.test', NO_RELAY],
  [SENDER, 'foreign.test!u', NO_RELAY],
  [SENDER, 'foreign.test!u@[127.0.0.1]', NO_RELAY],
  [SENDER, 'foreign.test!u@box.test', NOBODY],
  // Those that name our server, at the domain that accepts most addresses.
  ['user@pool.test', 'u@foreign.test', NO_RELAY],
  [SENDER, 'u%foreign.test@pool.test', NOBODY],
  [SENDER, 'u@foreign.test@pool.test', NOBODY],
  [SENDER, '"u@foreign.test"@pool.test', NOBODY],
  [SENDER, '@pool.test:u@foreign.test', NO_RELAY],
  [SENDER, 'foreign.test!u@pool.test', NOBODY],
] as const

let app: App
let box: Awaited<ReturnType<App['session']>>
beforeAll(async () => {
  app = await startApp()
  box = await app.session({ prefix: 'u', domain_id: '1' })
})
afterAll(() => app.stop())

describe('rejected at RCPT', () => {
  for (const [from, to, expected] of PROBES) {
    test(`from <${from}> to <${to}>`, async () => {
      const client = await connectSmtp(app.smtpPort)
      expect((await client.command('EHLO sender.test')).code).toBe(250)
      expect((await client.command(`MAIL FROM:<${from}>`)).code).toBe(250)
      expect((await client.command(`RCPT TO:<${to}>`)).text).toMatch(expected)
      expect((await client.command('DATA')).text).toMatch(/^554 /)
      client.close()
    })
  }
})

test('none of the probes was stored for a session, the pool or the operator', async () => {
  expect(await checkMail(app.url, box.token)).toStrictEqual([])
  expect(await stored('message')).toStrictEqual([])
  expect(await stored('raw_mail')).toStrictEqual([])
  // Control: a delivered mail is counted.
  expect(await app.mail(['u@pool.test', 'postmaster@box.test', box.email])).toBe(250)
  expect((await stored('message')).length).toBe(3)
  expect(await stored('raw_mail')).not.toStrictEqual([])
})

const stored = (table: string) => runSql(app, 'mail', `select received_at from ${table}`)
