import { expect, onTestFinished, test } from 'vitest'
import { evaluatePostgres } from '../src/doctor/rules/backend-rules.ts'
import { inspectPostgres } from '../src/store/postgres/connection/inspect.ts'
import { startLoad } from './kit/nodes/node-load.ts'
import { openNodes } from './kit/nodes/nodes.ts'
import { openReplicatedPostgres } from './kit/store/postgres.ts'

// Immediate and fast shutdowns of the primary, and a kill.
for (const signal of ['SIGQUIT', 'SIGKILL', 'SIGINT'] as const) {
  test(`a synchronous replica promoted after ${signal} has all mail acknowledged with 250`, async () => {
    const { replicated, load } = await open()
    await replicated.synchronous()
    await expectDoctorToSee(replicated)
    await load.waitForMore(60)
    await replicated.failOver(signal)
    await load.waitForMore(60)
    const { lines } = await load.finish()
    process.stdout.write(`${lines.length} mails acknowledged over a change of the primary\n`)
  })
}

test('an asynchronous replica lacks mail it had not received, and the loss is detected (control)', async () => {
  const { replicated, load } = await open()
  await load.waitForMore(60)
  await replicated.cutOff()
  await load.waitForMore(60)
  await replicated.failOver('SIGQUIT')
  await load.waitForMore(60)
  await expect(load.finish()).rejects.toThrow(
    /no reader missed a mail|nothing in the ledger is missing/,
  )
})

/** Two nodes on a PostgreSQL with a replica, under load. */
async function open() {
  const replicated = await openReplicatedPostgres()
  onTestFinished(() => replicated.close())
  const nodes = await openNodes({ count: 2, store: replicated.store })
  onTestFinished(() => nodes.close())
  const load = await startLoad(nodes, { senders: 4, ownBoxes: 3, crowdedBoxes: 4 })
  return { replicated, load }
}

/** What `mayfly doctor` says about the replica, to a superuser and to an ordinary role, which may not see its state. */
async function expectDoctorToSee({
  run,
  storeAs,
}: Awaited<ReturnType<typeof openReplicatedPostgres>>) {
  const check = async (role: string) => evaluatePostgres(await inspectPostgres(storeAs(role)))
  await run('create role plain login')
  const all = await check('mayfly')
  expect(all).toMatchObject({ status: 'ok', seen: expect.stringContaining('standby (sync)') })
  const plain = await check('plain')
  expect(plain).toMatchObject({ status: 'warning', fix: 'GRANT pg_read_all_stats TO plain;' })
  const connections = (seen: string) => Number(/(\d+) of \d+ connections/.exec(seen)?.[1])
  expect(connections(plain.seen)).toBeGreaterThan(5)
  await run(plain.fix)
  expect((await check('plain')).status).toBe('ok')
}
