import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { emailsOf } from '../../../test/support/api-client.ts'
import { startApp } from '../../../test/support/app.ts'
import { request } from '../../../test/support/http-client.ts'
import { startAppWithKeys } from '../../../test/support/keys.ts'
import { runSql } from '../../../test/support/sql.ts'
import { tempFolder } from '../../../test/support/stores.ts'

const POOLED = 'any@pool.test'

for (const [setting, all, byAddress, code] of [
  ['open', ['own', 'pooled'], ['pooled'], 250],
  ['by-address', ['own'], ['pooled'], 250],
  // Without a pool, the ledger of addresses is not kept.
  ['off', ['own'], [], 550],
] as const) {
  describe(`MAYFLY_READER_POOL=${setting}`, () => {
    test('limits which pool mail is returned; mail to sessions of the key always is', async () => {
      const app = await startAppWithKeys({ env: { MAYFLY_READER_POOL: setting } })
      onTestFinished(() => app.stop())
      const { headers } = await app.ring.issue()
      const subjects = async (query: string) =>
        emailsOf(await request(`${app.url}/emails${query}`, { headers })).map(
          (email) => email.subject,
        )
      const own = await app.session({ domain_id: '2' }, headers)
      assert.equal(await app.mail(POOLED, 'Subject: pooled\r\n\r\nx\r\n'), code)
      assert.equal(await app.mail(own.email, 'Subject: own\r\n\r\nx\r\n'), 250)

      assert.deepEqual(await subjects(''), all)
      assert.deepEqual(await subjects(`?to=${POOLED}`), byAddress)
      assert.deepEqual(await subjects(`?to=${own.email}`), ['own'])
      assert.deepEqual(await subjects('?to=another@pool.test'), [])
      assert.deepEqual(await subjects('?wait=55'), all)
    })
  })
}

test('pool mail is deleted after MAYFLY_POOL_TTL', async () => {
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const firstApp = await startApp({ folder: { path: folder.path, remove: () => {} } })
  for (const subject of ['old', 'new']) {
    assert.equal(await firstApp.mail(POOLED, `Subject: ${subject}\r\n\r\nx\r\n`), 250)
  }
  await firstApp.stop()
  const ageMail = `update message set received_at = received_at - 3600000 where subject = 'old'`
  await runSql(firstApp, 'mail', ageMail)

  const app = await startAppWithKeys({ env: { MAYFLY_POOL_TTL: '1h' }, folder })
  onTestFinished(() => app.stop())
  const { headers } = await app.ring.issue()
  const read = (etag = '') =>
    request(`${app.url}/emails?wait=55`, { headers: { ...headers, 'if-none-match': etag } })
  let response = await read()
  // The service sweeps once at startup; the deletion ends a pending wait.
  if (emailsOf(response).length > 1) response = await read(response.headers.get('etag') ?? '')
  assert.deepEqual(
    emailsOf(response).map(({ subject }) => subject),
    ['new'],
  )
})
