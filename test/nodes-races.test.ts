import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { requestFrom } from './support/http-client.ts'
import { type KeyRing, openKeyRing } from './support/keys.ts'
import { type Nodes, openNodes, raceForAddress, raceForRequests } from './support/nodes.ts'

// Who is first is decided by PostgreSQL, whichever nodes are asked.

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const ROUNDS = LONG ? 20 : 4
const PLAN = 1_000
const DAY_MS = 86_400_000
// Loopback runs free, but for a proxy that speaks for others.
const PROXY = '127.0.0.2'

let nodes: Nodes
let ring: KeyRing
beforeAll(async () => {
  nodes = await openNodes({ env: { MAYFLY_TRUST_PROXY: PROXY } })
  const config = { data: nodes.folder, store: nodes.store }
  ring = await openKeyRing({ config, now: () => new Date() })
})
afterAll(async () => {
  await ring.close()
  await nodes.close()
})

test('of two hundred who want the same address at three nodes one has it', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    assert.deepEqual(await raceForAddress(nodes.urls, `round-${round}`), { 200: 1, 409: 199 })
  }
})

test('sixty sessions a minute are one allowance for all nodes', async () => {
  // A Redis that is slow for a moment leaves the counting to the nodes: then another client shows it.
  for (const client of ['192.0.2.7', '192.0.2.8', '192.0.2.9']) {
    const { passed, seconds } = await createAll(client)
    assert.ok(passed >= 60, `${passed} passed`)
    // One grows back each second.
    if (passed <= 60 + seconds) return
  }
  assert.fail('more than sixty passed each time')
})

/** Until it is told to wait, at one node after the other. */
async function createAll(client: string): Promise<{ passed: number; seconds: number }> {
  const started = Date.now()
  const create = (turn: number) => {
    const headers = { 'x-forwarded-for': client }
    const port = nodes.node(turn % nodes.count).httpPort
    return requestFrom(port, PROXY, { method: 'POST', path: '/api/create-session', headers })
  }
  let passed = 0
  let last = await create(0)
  for (; last.status === 200; last = await create(passed)) passed += 1
  assert.equal(last.status, 429)
  return { passed, seconds: Math.ceil((Date.now() - started) / 1_000) }
}

describe('a key asked for at three nodes at once', () => {
  for (const [left, count] of [
    [1, 300],
    [10, 300],
    [999, 1_200],
  ] as const) {
    test(`has ${left} requests left and is served ${left} times of ${count}`, async () => {
      await askFor(left, count)
    })
  }

  test('is served as often as it may be a day', async () => {
    for (let day = 0; day !== today(); ) {
      day = today()
      const key = await ring.issue({ requests: 10 * PLAN, perDay: 100 })
      const heard = await raceForRequests(nodes.urls, key, 400)
      // Midnight began a new day for the key: then this showed nothing.
      if (day !== today()) continue
      assert.deepEqual(heard, { 200: 100, 429: 300 })
      assert.equal(await ring.used(key), 100)
    }
  })

  test('is given nothing while Redis is away', async () => {
    await nodes.redis().stop()
    await askFor(10, 300)
    await nodes.redis().start()
  })
})

/** Exactly those are served that are left, and the count stands at the plan's figure. */
async function askFor(left: number, count: number): Promise<void> {
  const key = await ring.issue({ requests: PLAN })
  await nodes.query(`update shop.api_key set used = ${PLAN - left} where id = '${key.id}'`)
  const heard = await raceForRequests(nodes.urls, key, count)
  assert.deepEqual(heard, { 200: left, 402: count - left })
  assert.equal(await ring.used(key), PLAN)
}

function today(): number {
  return Math.trunc(Date.now() / DAY_MS)
}
