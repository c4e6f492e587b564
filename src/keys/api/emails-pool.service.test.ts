import { describe, expect, onTestFinished, test } from 'vitest'
import { startApp } from '../../../test/kit/app/app.ts'
import { emailsOf } from '../../../test/kit/http/api-client.ts'
import { request } from '../../../test/kit/http/http-client.ts'
import { startAppWithKeys } from '../../../test/kit/shop/keys.ts'
import { runSql } from '../../../test/kit/store/sql.ts'
import { tempFolder } from '../../../test/kit/store/stores.ts'

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
      expect(await app.mail(POOLED, 'Subject: pooled\r\n\r\nx\r\n')).toBe(code)
      expect(await app.mail(own.email, 'Subject: own\r\n\r\nx\r\n')).toBe(250)

      expect(await subjects('')).toStrictEqual(all)
      expect(await subjects(`?to=${POOLED}`)).toStrictEqual(byAddress)
      expect(await subjects(`?to=${own.email}`)).toStrictEqual(['own'])
      expect(await subjects('?to=another@pool.test')).toStrictEqual([])
      expect(await subjects('?wait=55')).toStrictEqual(all)
      expect(await subjects('?q=pooled')).toStrictEqual(setting === 'open' ? ['pooled'] : [])
      expect(await subjects(`?q=pooled&to=${POOLED}`)).toStrictEqual(byAddress)

      const [{ id = 0 } = {}] = emailsOf(
        await request(`${app.url}/emails?to=${POOLED}`, { headers }),
      )
      const statuses = async (query: string) => {
        const paths = ['', '/raw', '/attachments/0'].map((part) => `/emails/${id}${part}${query}`)
        const read = paths.map((path) => request(`${app.url}${path}`, { headers }))
        return (await Promise.all(read)).map(({ status }) => status)
      }
      const found = (isFound: boolean) => (isFound ? [200, 200, 404] : [404, 404, 404])
      expect(await statuses('')).toStrictEqual(found(setting === 'open'))
      expect(await statuses(`?to=${POOLED}`)).toStrictEqual(found(setting !== 'off'))
      expect(await statuses('?to=another@pool.test')).toStrictEqual(found(false))
    })
  })
}

test('pool mail is deleted after MAYFLY_POOL_TTL', async () => {
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const firstApp = await startApp({ folder: { path: folder.path, remove: () => {} } })
  for (const subject of ['old', 'new']) {
    expect(await firstApp.mail(POOLED, `Subject: ${subject}\r\n\r\nx\r\n`)).toBe(250)
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
  expect(emailsOf(response).map(({ subject }) => subject)).toStrictEqual(['new'])
})
