import { afterAll, beforeAll, expect, test } from 'vitest'
import { newMail, openFixture, START } from '../../../../test/kit/store/fixture.ts'
import { openPostgres, type Postgres } from '../../../../test/kit/store/postgres.ts'
import { openPostgresTestMail } from '../../../../test/kit/store/postgres-stores.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

test('a request for an address in use does not lock its row', async () => {
  const opened = await openPostgresTestMail(postgres)
  const fixture = await openFixture(opened)
  await fixture.session('ann@box.test')
  expect(await fixture.take('ann@box.test', 'another')).toBeUndefined()
  // A row lock would set xmax and cost a commit.
  const locked = `select address from mail.session where xmax <> '0'`
  expect(await postgres.run(locked, opened.database)).toStrictEqual([])
  await fixture.close()
})

test('sessions that share mails and are extended concurrently never deadlock', async () => {
  const fixture = await openFixture(await openPostgresTestMail(postgres))
  const day = (days: number) => new Date(START.getTime() + days * 86_400_000)
  for (let round = 0; round < 5; round += 1) {
    const names = [`ann${round}@box.test`, `bob${round}@box.test`]
    const [ann, bob] = [
      await fixture.session(names[0] ?? ''),
      await fixture.session(names[1] ?? ''),
    ]
    const recipients = await fixture.accepted(names)
    for (let sent = 0; sent < 5; sent += 1) await fixture.store.addMail(newMail(recipients))
    // Every step moves both sessions, through buckets that hold copies of the other.
    for (const [annDays, bobDays] of [
      [1, 2],
      [4, 5],
      [13, 11],
      [27, 30],
      [61, 60],
    ] as const) {
      const extended = await Promise.all([
        fixture.store.extendSession(ann.id, day(annDays), START),
        fixture.other.extendSession(bob.id, day(bobDays), START),
      ])
      expect(extended.every(Boolean)).toBeTruthy()
    }
    for (const { id } of [ann, bob]) expect((await fixture.subjects(id)).length).toBe(5)
  }
  await fixture.close()
})
