import assert from 'node:assert/strict'
import { afterAll, beforeAll, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../../test/support/postgres.ts'
import { openPostgresTestMail } from '../../../../test/support/postgres-stores.ts'
import { newMail, openFixture, START } from '../../contract/fixture.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

test('who asks for an address that is held leaves its row alone', async () => {
  const opened = await openPostgresTestMail(postgres)
  const fixture = await openFixture(opened)
  await fixture.session('ann@box.test')
  assert.equal(await fixture.take('ann@box.test', 'another'), undefined)
  // A lock leaves its owner's number there, and costs a commit.
  const touched = `select address from mail.session where xmax <> '0'`
  assert.deepEqual(await postgres.run(touched, opened.database), [])
  await fixture.close()
})

test('sessions that share mails and are extended at the same time never deadlock', async () => {
  const fixture = await openFixture(await openPostgresTestMail(postgres))
  const day = (days: number) => new Date(START.getTime() + days * 86_400_000)
  for (let round = 0; round < 5; round += 1) {
    const names = [`ann${round}@box.test`, `bob${round}@box.test`]
    const [ann, bob] = [
      await fixture.session(names[0] ?? ''),
      await fixture.session(names[1] ?? ''),
    ]
    const recipients = await fixture.accepted(names)
    for (let mails = 0; mails < 5; mails += 1) await fixture.store.addMail(newMail(recipients))
    // Each is moved by every step, and meets the other's copies in buckets that it leaves or enters.
    for (const [anns, bobs] of [
      [1, 2],
      [4, 5],
      [13, 11],
      [27, 30],
      [61, 60],
    ] as const) {
      const moved = await Promise.all([
        fixture.store.extendSession(ann.id, day(anns), START),
        fixture.other.extendSession(bob.id, day(bobs), START),
      ])
      assert.ok(moved.every(Boolean))
    }
    for (const { id } of [ann, bob]) assert.equal((await fixture.subjects(id)).length, 5)
  }
  await fixture.close()
})
