import { Agent } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { statusOf } from './kit/http/status-of.ts'
import { chargedPaths } from './kit/shop/charged-paths.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from './kit/shop/keys.ts'
import { runSql } from './kit/store/sql.ts'

const CLIENTS = 200
const [PLAN, REQUESTS] = process.env['MAYFLY_TEST_LONG'] ? [1_000, 10_000] : [300, 600]
const DAY_MS = 86_400_000

let app: AppWithKeys
let paths: string[]
beforeAll(async () => {
  app = await startAppWithKeys({ env: { MAYFLY_HTTP_THREADS: '2' } })
  // It is noon, so that the day does not change during the test.
  const noon = Math.ceil(app.now().getTime() / DAY_MS) * DAY_MS + DAY_MS / 2
  app.moveClock(Math.ceil((noon - app.now().getTime()) / 1000))
  paths = await chargedPaths(app, await app.ring.issue())
})
afterAll(() => app.stop())

for (const left of [1, 10, PLAN - 1, PLAN]) {
  test(`with ${left} left, ${left} of ${REQUESTS} requests of ${CLIENTS} concurrent clients are served`, async () => {
    const key = await app.ring.issue({ requests: PLAN })
    await runSql(app, 'shop', `update api_key set used = ${PLAN - left} where id = '${key.id}'`)
    expect(await flood(key)).toStrictEqual({ 200: left, 402: REQUESTS - left })
    expect(await app.ring.used(key)).toBe(PLAN)
    const [today] = await app.ring.shop.readUsage(key.id, 0)
    expect(today?.count, 'and so the day counts them').toBe(left)
  })
}

test('the daily limit is exact, and rejected requests are not charged', async () => {
  const key = await app.ring.issue({ requests: 100_000, perDay: PLAN })
  expect(await flood(key)).toStrictEqual({ 200: PLAN, 429: REQUESTS - PLAN })
  expect(await app.ring.used(key)).toBe(PLAN)
})

/** Counts responses by status. Every client has its own connection and sends one request at a time, to each endpoint in turn. */
async function flood({ headers }: TestKey): Promise<Record<number, number>> {
  const statusCounts: Record<number, number> = {}
  const client = async (_: unknown, number: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let sent = 0; sent < REQUESTS / CLIENTS; sent += 1) {
      const path = paths[(number + sent) % paths.length]
      const status = await statusOf(`${app.url}${path}`, { headers, agent })
      statusCounts[status] = (statusCounts[status] ?? 0) + 1
    }
    agent.destroy()
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return statusCounts
}
