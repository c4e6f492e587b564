import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MINUTE, type OpenMailStore } from '../../../test/kit/store/fixture.ts'
import type { Store } from '../store.ts'

export function leasesContract(open: () => Promise<OpenMailStore>): void {
  let opened: OpenMailStore
  beforeEach(async () => {
    opened = await open()
  })
  afterEach(() => opened.close())

  const acquire = (holder: string, { ms = MINUTE, name = 'sweep', at = opened.store } = {}) =>
    at.acquireLease({ name, holder, ms })
  /** Retries until it is acquired; the timeout of the test is the limit. */
  const untilAcquired = async (holder: string, at: Store) => {
    while (!(await acquire(holder, { at }))) await pause(5)
  }

  test('a lease has one holder', async () => {
    expect(await acquire('ann')).toBe(true)
    expect(await acquire('bob')).toBe(false)
    expect(await acquire('bob', { at: opened.other })).toBe(false)
    expect(await acquire('bob', { name: 'shop' })).toBe(true)
  })

  test('of many concurrent requests for a free or expired lease, one succeeds', async () => {
    for (const round of ['free', 'over']) {
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, at) =>
          acquire(`${round} ${at}`, { at: at % 2 ? opened.store : opened.other }),
        ),
      )
      expect(results.filter((isAcquired) => isAcquired).length, round).toBe(1)
      const winner = `${round} ${results.indexOf(true)}`
      // Renewed for 0 ms, it expires at once.
      await acquire(winner, { ms: 0 })
    }
  })

  test('its holder can renew it', async () => {
    await acquire('ann', { ms: 50 })
    expect(await acquire('ann', { at: opened.other })).toBe(true)
    await acquire('rob', { name: 'other', ms: 50 })
    // By now the first lease would have expired too.
    while (!(await acquire('bob', { name: 'other' }))) await pause(5)
    expect(await acquire('bob')).toBe(false)
  })

  test('a lease that is not renewed expires', async () => {
    await acquire('ann', { ms: 50 })
    await untilAcquired('bob', opened.other)
    expect(await acquire('ann')).toBe(false)
  })

  test('a released lease is free at once', async () => {
    await acquire('ann')
    await opened.other.releaseLease('sweep', 'ann')
    expect(await acquire('bob')).toBe(true)
  })

  test('a lease can be released only by its holder', async () => {
    await acquire('ann')
    await opened.store.releaseLease('sweep', 'bob')
    await opened.store.releaseLease('shop', 'ann')
    expect(await acquire('bob')).toBe(false)
  })
}
