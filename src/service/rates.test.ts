import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { makeRates, openMemoryLimit } from '../limit/memory.ts'
import { limitAttempts } from './rates.ts'

const NOW = new Date('2026-03-01T12:00:00Z')

/** A limit that takes a while, like Redis. */
function slowDeps() {
  const limit = openMemoryLimit(makeRates())
  return {
    now: () => NOW,
    limit: {
      ...limit,
      async take(...args: Parameters<typeof limit.take>) {
        await turn()
        return await limit.take(...args)
      },
      async peek(...args: Parameters<typeof limit.peek>) {
        await turn()
        return await limit.peek(...args)
      },
    },
  }
}

test('of many attempts at once, no more are examined than the limit allows', async () => {
  const deps = slowDeps()
  let examined = 0
  const guess = () =>
    limitAttempts(deps, 'wrongAdminToken', 'ann', () => {
      examined += 1
      return false
    })
  const results = await Promise.allSettled(Array.from({ length: 200 }, guess))
  expect(examined).toBe(21)
  expect(results.every((one) => one.status === 'rejected' || !one.value)).toBe(true)
})

test('right attempts use nothing up', async () => {
  const deps = slowDeps()
  const attempt = (isRight: boolean) => limitAttempts(deps, 'wrongAdminToken', 'ann', () => isRight)
  for (let count = 0; count < 50; count += 1) expect(await attempt(true)).toBe(true)
  for (let count = 0; count < 20; count += 1) expect(await attempt(false)).toBe(false)
  expect(await attempt(true)).toBe(true)
  await expect(attempt(false)).rejects.toMatchObject({ code: 'rate_limited' })
  await expect(attempt(true)).rejects.toMatchObject({ code: 'rate_limited' })
})
