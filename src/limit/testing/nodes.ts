import { recordingLog } from '../../../test/kit/recording-log.ts'
import { connectRedis } from '../../redis/connect.ts'
import type { Limit } from '../limit.ts'
import { makeRates, openMemoryLimit } from '../memory.ts'
import { openRedisLimit } from '../redis.ts'

// Once exhausted, it does not recover during a test.
export const SLOW_RATE = { count: 1, seconds: 3_600, burst: 3 }
export const NOW = new Date('2026-03-01T12:00:00Z')

/** Nodes that count rates in one Redis. */
export function openNodes(url: () => string) {
  const opened: Limit[] = []

  /** With a long timeout, for a machine that is busy with other tests. */
  async function openNode(slowMs = 10_000): Promise<Limit> {
    const redis = await connectRedis({ url: url(), log: recordingLog().log })
    const limit = openRedisLimit({ redis, local: openMemoryLimit(makeRates()), timeoutMs: slowMs })
    const close = async () => {
      await limit.close()
      redis.close()
    }
    opened.push({ ...limit, close })
    return { ...limit, close }
  }

  return {
    openNode,
    pair: async (): Promise<[Limit, Limit]> => [await openNode(), await openNode()],
    async close() {
      for (const limit of opened.splice(0)) await limit.close()
    },
  }
}

/** How many of this many attempts pass. */
export async function countPassed(limit: Limit, times: number, key = 'ann'): Promise<number> {
  let count = 0
  for (let attempt = 0; attempt < times; attempt += 1) {
    if ((await limit.take(key, SLOW_RATE, NOW)) === 0) count += 1
  }
  return count
}

let rounds = 0

/** Resolves when both nodes count together. */
export async function untilShared(here: Limit, there: Limit): Promise<void> {
  for (;;) {
    rounds += 1
    const key = `round ${rounds}`
    await countPassed(here, SLOW_RATE.burst, key)
    if ((await there.take(key, SLOW_RATE, NOW)) > 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
