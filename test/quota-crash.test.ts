import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { onTestFinished, test } from 'vitest'
import { hasErrorCode } from '../src/core/problem.ts'
import { openKeyRing } from './support/keys.ts'
import { freeServicePorts, spawnService } from './support/service-process.ts'
import { statusOf } from './support/status-of.ts'
import { tempFolder } from './support/stores.ts'

const ROUNDS = process.env['MAYFLY_TEST_LONG'] ? 20 : 4
const CLIENTS = 20
const PLAN = ROUNDS * 500

// The rule: a request is taken, on disk, before it is answered. So what was answered was taken, whatever dies; and what
// was taken without an answer was in flight when a process died.
test('a SIGKILL under load gives nobody a request more than the plan, and costs only what was in flight', async () => {
  const folder = tempFolder()
  const ports = await freeServicePorts()
  const env = { MAYFLY_HTTP_THREADS: '2' }
  const serve = () => spawnService({ folder: folder.path, ports, env })
  let served = await serve()
  const ring = await openKeyRing({
    config: { data: folder.path, store: 'sqlite:' },
    now: () => new Date(),
  })
  onTestFinished(async () => {
    await served.kill('SIGKILL')
    await ring.close()
    folder.remove()
  })
  const key = await ring.issue({ requests: PLAN })

  const tally = { served: 0, lost: 0, over: false }
  const url = `${served.url}/emails`
  const clients = Promise.all(
    Array.from({ length: CLIENTS }, () => askUntilUsedUp(url, key.headers, tally)),
  ).finally(() => {
    tally.over = true
  })
  // Heard in the loop, which may be busy with a kill just then.
  clients.catch(() => {})
  for (let round = 0; round < ROUNDS; round += 1) {
    const goal = ((round + 1) * PLAN) / (ROUNDS + 1)
    while (tally.served < goal && !tally.over) await new Promise(setImmediate)
    if (tally.over) assert.fail(`all ${(await clients).length} were done before the kill`)
    await served.kill('SIGKILL')
    const used = (await ring.used(key)) ?? 0
    assert.ok(tally.served <= used, `${tally.served} answered, only ${used} taken`)
    served = await serve()
  }
  await clients

  assert.equal(await ring.used(key), PLAN)
  const unanswered = PLAN - tally.served
  process.stdout.write(`${unanswered} charged without an answer, ${tally.lost} were in flight\n`)
  assert.ok(unanswered >= 0 && unanswered <= tally.lost)
  assert.ok(tally.lost > 0, 'the clients were busy')
})

/** Asks one after the other, also over restarts, until the key is used up or all is over. */
async function askUntilUsedUp(
  url: string,
  headers: Record<string, string>,
  tally: { served: number; lost: number; over: boolean },
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let status = 0; status !== 402 && !tally.over; ) {
    try {
      status = await statusOf(url, { headers, agent })
      if (status === 200) tally.served += 1
      else assert.equal(status, 402)
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      // Refused: nobody was there to take it.
      if (!hasErrorCode(error, 'ECONNREFUSED')) tally.lost += 1
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  agent.destroy()
}
