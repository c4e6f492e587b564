import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { ask } from '../../../test/ask.ts'
import { emailsOf } from '../../../test/emails.ts'
import { openHouse } from '../../../test/house.ts'
import { openKeyRing } from '../../../test/keys.ts'

const POOLED = 'any@pool.test'

for (const [setting, all, byAddress] of [
  ['open', ['own', 'pooled'], ['pooled']],
  ['by-address', ['own'], ['pooled']],
  ['off', ['own'], []],
] as const) {
  describe(`MAYFLY_READER_POOL=${setting}`, () => {
    test('shows this much of the pool, and always the key’s own', async () => {
      const house = await openHouse({ env: { MAYFLY_READER_POOL: setting } })
      const ring = openKeyRing(house)
      const { headers } = await ring.issue()
      const subjects = async (query: string) =>
        emailsOf(await ask(`${house.url}/emails${query}`, { headers })).map((one) => one.subject)
      const own = await house.session({ domain_id: '2' }, headers)
      assert.equal(await house.mail(POOLED, 'Subject: pooled\r\n\r\nx\r\n'), 250)
      assert.equal(await house.mail(own.email, 'Subject: own\r\n\r\nx\r\n'), 250)

      assert.deepEqual(await subjects(''), all)
      assert.deepEqual(await subjects(`?to=${POOLED}`), byAddress)
      assert.deepEqual(await subjects(`?to=${own.email}`), ['own'])
      assert.deepEqual(await subjects('?to=another@pool.test'), [])
      assert.deepEqual(await subjects('?wait=55'), all)
      await ring.close()
      await house.stop()
    })
  })
}

test('mail of the pool is gone after its time', async () => {
  const house = await openHouse({ env: { MAYFLY_POOL_TTL: '1h' } })
  const ring = openKeyRing(house)
  const { headers } = await ring.issue()
  await house.mail(POOLED)
  const read = (more = {}) =>
    ask(`${house.url}/emails?wait=55`, { headers: { ...headers, ...more } })
  const before = await read()
  assert.equal(emailsOf(before).length, 1)
  house.moveClock(3_600)
  // The sweep takes it, and that is news to who waits.
  const after = await read({ 'if-none-match': before.headers.get('etag') ?? '' })
  assert.equal(after.text, '[{"emails":[]}]')
  await ring.close()
  await house.stop()
})
