import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { checkMail } from './support/api-client.ts'
import { type App, startApp } from './support/app.ts'
import { connectSmtp } from './support/smtp-client.ts'
import { runSql } from './support/sql.ts'

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
      assert.equal((await client.command('EHLO sender.test')).code, 250)
      assert.equal((await client.command(`MAIL FROM:<${from}>`)).code, 250)
      assert.match((await client.command(`RCPT TO:<${to}>`)).text, expected)
      assert.match((await client.command('DATA')).text, /^554 /)
      client.close()
    })
  }
})

test('none of the probes was stored for a session, the pool or the operator', async () => {
  assert.deepEqual(await checkMail(app.url, box.token), [])
  assert.deepEqual(await stored('message'), [])
  assert.deepEqual(await stored('raw_mail'), [])
  // Control: a delivered mail is counted.
  assert.equal(await app.mail(['u@pool.test', 'postmaster@box.test', box.email]), 250)
  assert.equal((await stored('message')).length, 3)
  assert.notDeepEqual(await stored('raw_mail'), [])
})

const stored = (table: string) => runSql(app, 'mail', `select received_at from ${table}`)
