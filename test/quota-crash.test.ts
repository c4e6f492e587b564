import { Agent } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { hasErrorCode } from '../src/base/problem.ts'
import { freeServicePorts, spawnService } from './kit/app/service-process.ts'
import { statusOf } from './kit/http/status-of.ts'
import { chargedPaths } from './kit/shop/charged-paths.ts'
import { openKeyRing } from './kit/shop/keys.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'

const ROUNDS = process.env['MAYFLY_TEST_LONG'] ? 20 : 2
const CLIENTS = 20
const PLAN = ROUNDS * 300

// The rule: a request is charged, on disk, before it is answered. So every answered request was charged, whatever crashes,
// and a request charged without a response was in flight during a crash.
test('after a SIGKILL under load no key gets more requests than its plan, and only requests in flight are lost', async () => {
  const folder = tempFolder(DISK)
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
  const { url } = served
  const urls = (await chargedPaths(served, await ring.issue())).map((path) => `${url}${path}`)
  const clients = Promise.all(
    Array.from({ length: CLIENTS }, () => requestUntilUsedUp(urls, key.headers, tally)),
  ).finally(() => {
    tally.over = true
  })
  // Handled in the loop, which may be busy with a kill when this rejects.
  clients.catch(() => {})
  for (let round = 0; round < ROUNDS; round += 1) {
    const goal = ((round + 1) * PLAN) / (ROUNDS + 1)
    while (tally.served < goal && !tally.over) await setTimeout(1)
    if (tally.over) expect.fail(`all ${(await clients).length} were done before the kill`)
    await served.kill('SIGKILL')
    const used = (await ring.used(key)) ?? 0
    expect(tally.served, `${tally.served} answered, only ${used} taken`).toBeLessThanOrEqual(used)
    served = await serve()
  }
  await clients

  expect(await ring.used(key)).toBe(PLAN)
  const unanswered = PLAN - tally.served
  process.stdout.write(`${unanswered} charged without an answer, ${tally.lost} were in flight\n`)
  expect(unanswered >= 0 && unanswered <= tally.lost).toBeTruthy()
  expect(tally.lost, 'the clients were busy').toBeGreaterThan(0)
})

/** Requests one URL after the other, across restarts, until the key is used up or the test is over. */
async function requestUntilUsedUp(
  urls: readonly string[],
  headers: Record<string, string>,
  tally: { served: number; lost: number; over: boolean },
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let sent = 0, status = 0; status !== 402 && !tally.over; sent += 1) {
    try {
      status = await statusOf(urls[sent % urls.length] ?? '', { headers, agent })
      if (status === 200) tally.served += 1
      else expect(status).toBe(402)
    } catch (error) {
      if (error instanceof Error && error.name === 'AssertionError') throw error
      // A refused connection was never charged.
      if (!hasErrorCode(error, 'ECONNREFUSED')) tally.lost += 1
      await setTimeout(20)
    }
  }
  agent.destroy()
}
