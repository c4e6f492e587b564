import assert from 'node:assert/strict'
import { afterEach, test } from 'vitest'
import { listMail } from './check-mail.ts'
import { liveSession } from '../sessions/live-session.ts'
import type { CodeLooks } from './code-lookup.ts'
import { type CodeScene, openCodeScene } from '../testing/codes.ts'

let scene: CodeScene
afterEach(() => scene.close())

const PAGE = { sinceId: 0, limit: 100 }
const list = (codes: Pick<CodeLooks, 'look'> = scene.codes) =>
  listMail({ ...scene.needs, codes }, scene, PAGE)

test('a list tells when some of it was not taken on to be looked at', async () => {
  scene = await openCodeScene()
  await scene.send('111111')
  const full = { look: () => ({ whole: false, found: async () => false }) }
  assert.equal((await list(full)).whole, false)
  const listed = await list()
  assert.deepEqual([listed.whole, listed.messages[0]?.code], [true, '111111'])
})

test('also when that came while it waited for the others', async () => {
  scene = await openCodeScene()
  await scene.send('111111')
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
  scene = await openCodeScene()
  await scene.send('111111')
  const { session } = await list()
  assert.deepEqual(session, await liveSession(scene, scene.token))
})

test('a session that ends while its list waits opens nothing any more', async () => {
  scene = await openCodeScene()
  await scene.send('111111')
  const ending = {
    look: () => ({
      whole: true,
      async found() {
        await scene.store.endSession(scene.session.id, scene.now())
        return true
      },
    }),
  }
  await assert.rejects(list(ending), { code: 'invalid_token' })
})
