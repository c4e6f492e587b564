import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { emailsOf } from '../../../test/support/api-client.ts'
import { startApp } from '../../../test/support/app.ts'
import { request } from '../../../test/support/http-client.ts'
import { startAppWithKeys } from '../../../test/support/keys.ts'
import { runSql } from '../../../test/support/sql.ts'
import { tempFolder } from '../../../test/support/stores.ts'

const POOLED = 'any@pool.test'

for (const [setting, all, byAddress] of [
  ['open', ['own', 'pooled'], ['pooled']],
  ['by-address', ['own'], ['pooled']],
  ['off', ['own'], []],
] as const) {
  describe(`MAYFLY_READER_POOL=${setting}`, () => {
    test('shows this much of the pool, and always the key’s own', async () => {
      const app = await startAppWithKeys({ env: { MAYFLY_READER_POOL: setting } })
      onTestFinished(() => app.stop())
      const { headers } = await app.ring.issue()
      const subjects = async (query: string) =>
        emailsOf(await request(`${app.url}/emails${query}`, { headers })).map((one) => one.subject)
      const own = await app.session({ domain_id: '2' }, headers)
      assert.equal(await app.mail(POOLED, 'Subject: pooled\r\n\r\nx\r\n'), 250)
      assert.equal(await app.mail(own.email, 'Subject: own\r\n\r\nx\r\n'), 250)

      assert.deepEqual(await subjects(''), all)
      assert.deepEqual(await subjects(`?to=${POOLED}`), byAddress)
      assert.deepEqual(await subjects(`?to=${own.email}`), ['own'])
      assert.deepEqual(await subjects('?to=another@pool.test'), [])
      assert.deepEqual(await subjects('?wait=55'), all)
    })
  })
}

test('MAYFLY_POOL_TTL is how long mail of the pool is there', async () => {
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const former = await startApp({ folder: { path: folder.path, remove: () => {} } })
  for (const subject of ['old', 'new']) {
    assert.equal(await former.mail(POOLED, `Subject: ${subject}\r\n\r\nx\r\n`), 250)
  }
  await former.stop()
  const older = `update message set received_at = received_at - 3600000 where subject = 'old'`
  await runSql(former, 'mail', older)

  const app = await startAppWithKeys({ env: { MAYFLY_POOL_TTL: '1h' }, folder })
  onTestFinished(() => app.stop())
  const { headers } = await app.ring.issue()
  const read = (etag = '') =>
    request(`${app.url}/emails?wait=55`, { headers: { ...headers, 'if-none-match': etag } })
  let asked = await read()
  // A service that starts sweeps before it rests; that it did is news to who waits.
  if (emailsOf(asked).length > 1) asked = await read(asked.headers.get('etag') ?? '')
  assert.deepEqual(
    emailsOf(asked).map(({ subject }) => subject),
    ['new'],
  )
})
