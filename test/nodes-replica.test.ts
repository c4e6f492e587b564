import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { startLoad } from './support/node-load.ts'
import { openNodes } from './support/nodes.ts'
import { openReplicatedPostgres } from './support/postgres.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
// Immediate and fast shutdowns of the primary, and a kill.
const SIGNALS: readonly NodeJS.Signals[] = LONG ? ['SIGQUIT', 'SIGKILL', 'SIGINT'] : ['SIGQUIT']

for (const signal of SIGNALS) {
  test(`a synchronous replica promoted after ${signal} has all mail acknowledged with 250`, async () => {
    const { replicated, load } = await open()
    await replicated.synchronous()
    await load.waitForMore(60)
    await replicated.failOver(signal)
    await load.waitForMore(60)
    const { lines } = await load.finish()
    process.stdout.write(`${lines.length} mails acknowledged over a change of the primary\n`)
  })
}

test.runIf(LONG)(
  'an asynchronous replica lacks mail it had not received, and the loss is detected (control)',
  async () => {
    const { replicated, load } = await open()
    await load.waitForMore(60)
    await replicated.cutOff()
    await load.waitForMore(60)
    await replicated.failOver('SIGQUIT')
    await load.waitForMore(60)
    await assert.rejects(load.finish(), /nothing in the ledger is missing/)
  },
)

/** Two nodes on a PostgreSQL with a replica, under load. */
async function open() {
  const replicated = await openReplicatedPostgres()
  onTestFinished(() => replicated.close())
  const nodes = await openNodes({ count: 2, store: replicated.store })
  onTestFinished(() => nodes.close())
  const load = await startLoad(nodes, { senders: 4, ownBoxes: 3, crowdedBoxes: 4 })
  return { replicated, load }
}
