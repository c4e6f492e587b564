import assert from 'node:assert/strict'
import { test } from 'vitest'
import { openPostgres } from '../../../test/postgres.ts'
import { postgresMail } from '../../../test/postgres-stores.ts'
import { openScene } from '../contract/scene.ts'

test('who asks for an address that is held leaves its row alone', async () => {
  const postgres = await openPostgres()
  const opened = await postgresMail(postgres)
  const scene = await openScene(opened)
  await scene.session('ann@box.test')
  assert.equal(await scene.take('ann@box.test', 'another'), undefined)
  // A lock leaves its owner's number there, and costs a commit.
  const touched = `select address from mail.session where xmax <> '0'`
  assert.deepEqual(await postgres.run(touched, opened.database), [])
  await scene.close()
  await postgres.close()
})
