import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Awaitable } from '../../base/awaitable.ts'
import { makeRates, openMemoryLimit } from '../../limit/memory.ts'
import { limitAttempts } from './rates.ts'

const NOW = new Date('2026-03-01T12:00:00Z')

/** A limit that takes a while to be asked, and to respond, like Redis. */
function slowDeps() {
  const { take, peek, ...limit } = openMemoryLimit(makeRates())
  const slowly = async (call: () => Awaitable<number>) => {
    await turn()
    const result = await call()
    await turn()
    return result
  }
  return {
    now: () => NOW,
    limit: {
      ...limit,
      take: (...args: Parameters<typeof take>) => slowly(() => take(...args)),
      peek: (...args: Parameters<typeof peek>) => slowly(() => peek(...args)),
    },
  }
}

test('of many attempts at once, no more have a result than the limit allows', async () => {
  const deps = slowDeps()
  const guess = (_: unknown, at: number) =>
    limitAttempts(deps, 'wrongAdminToken', 'ann', () => at === 150)
  const results = await Promise.allSettled(Array.from({ length: 200 }, guess))
  const answered = results.filter((one) => one.status === 'fulfilled').map(({ value }) => value)
  expect(answered.length).toBeLessThanOrEqual(20)
  expect(answered).not.toContain(true)
})

test('right attempts use nothing up, and are not refused however many there are at once', async () => {
  const deps = slowDeps()
  const attempt = (isRight: boolean) => limitAttempts(deps, 'wrongAdminToken', 'ann', () => isRight)
  const right = await Promise.all(Array.from({ length: 100 }, () => attempt(true)))
  expect(new Set(right)).toEqual(new Set([true]))
  for (let count = 0; count < 20; count += 1) expect(await attempt(false)).toBe(false)
  expect(await attempt(true)).toBe(true)
  await expect(attempt(false)).rejects.toMatchObject({ code: 'rate_limited' })
  await expect(attempt(true)).rejects.toMatchObject({ code: 'rate_limited' })
})

test('over the limit, an attempt is not even examined', async () => {
  const deps = slowDeps()
  let examined = 0
  const guess = () =>
    limitAttempts(deps, 'wrongAdminToken', 'ann', () => {
      examined += 1
      return false
    })
  for (let count = 0; count < 50; count += 1) await guess().catch(() => {})
  expect(examined).toBe(21)
})
