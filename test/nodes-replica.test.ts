import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { openNodes } from './nodes.ts'
import { startLoad } from './nodes-load.ts'
import { openReplicated } from './replica.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
// As when its machine is gone, and as when it stops without a word to anybody.
const DEATHS: readonly NodeJS.Signals[] = LONG ? ['SIGQUIT', 'SIGKILL', 'SIGINT'] : ['SIGQUIT']

for (const signal of DEATHS) {
  test(`a synchronous replica that takes over after ${signal} has all that was answered 250`, async () => {
    const { replicated, load, until } = await open()
    await replicated.synchronous()
    await until(200)
    await replicated.failOver(signal)
    await until(400)
    const { lines } = await load.finish()
    process.stdout.write(`${lines.length} mails acknowledged over a change of the primary\n`)
  })
}

test.runIf(LONG)('an asynchronous one lacks what it had not heard, and it shows', async () => {
  const { replicated, load, until } = await open()
  await until(100)
  await replicated.cutOff()
  await until(200)
  await replicated.failOver('SIGQUIT')
  await until(300)
  await assert.rejects(load.finish(), /nothing in the ledger is missing/)
})

/** Two nodes on a PostgreSQL with a replica, under load. */
async function open() {
  const replicated = await openReplicated()
  onTestFinished(() => replicated.close())
  const nodes = await openNodes({ count: 2, store: replicated.store })
  onTestFinished(() => nodes.close())
  const load = await startLoad(nodes, { senders: 4, ownBoxes: 3, crowdedBoxes: 2 })
  /** Resolves when so many mails were answered. */
  const until = async (mails: number) => {
    while (load.ledger.read().length < mails) await new Promise((done) => setTimeout(done, 20))
  }
  return { replicated, load, until }
}
