import assert from 'node:assert/strict'
import { afterEach, test } from 'vitest'
import { liveSession } from '../sessions/live-session.ts'
import { type CodeFixture, openCodeFixture } from '../testing/codes.ts'
import { listMail } from './check-mail.ts'
import type { CodeLooks } from './code-lookup.ts'

let fixture: CodeFixture
afterEach(() => fixture.close())

const PAGE = { sinceId: 0, limit: 100 }
const list = (codes: Pick<CodeLooks, 'look'> = fixture.codes) =>
  listMail({ ...fixture.deps, codes }, fixture, PAGE)

test('a list tells when some of it was not taken on to be looked at', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  const full = { look: () => ({ whole: false, found: async () => false }) }
  assert.equal((await list(full)).whole, false)
  const listed = await list()
  assert.deepEqual([listed.whole, listed.messages[0]?.code], [true, '111111'])
})

test('also when that came while it waited for the others', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  let asked = 0
  const filling = {
    look() {
      asked += 1
      const isFirst = asked === 1
      return { whole: isFirst, found: async () => isFirst }
    },
  }
  assert.equal((await list(filling)).whole, false)
})

test('it comes with the session as it is when the codes are noted', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  const { session } = await list()
  assert.deepEqual(session, await liveSession(fixture, fixture.token))
})

test('a session that ends while its list waits opens nothing any more', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  const ending = {
    look: () => ({
      whole: true,
      async found() {
        await fixture.store.endSession(fixture.session.id, fixture.now())
        return true
      },
    }),
  }
  await assert.rejects(list(ending), { code: 'invalid_token' })
})
