import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, test } from 'vitest'
import type { MailStore } from '../store.ts'
import { MINUTE, type OpenMailStore } from './fixture.ts'

export function leasesContract(open: () => Promise<OpenMailStore>): void {
  let opened: OpenMailStore
  beforeEach(async () => {
    opened = await open()
  })
  afterEach(() => opened.close())

  const take = (holder: string, { ms = MINUTE, name = 'sweep', at = opened.store } = {}) =>
    at.acquireLease({ name, holder, ms })
  /** Retries until it is acquired; the timeout of the test is the limit. */
  const taken = async (holder: string, at: MailStore) => {
    while (!(await take(holder, { at }))) await pause(5)
  }

  test('a lease has one holder', async () => {
    assert.equal(await take('ann'), true)
    assert.equal(await take('bob'), false)
    assert.equal(await take('bob', { at: opened.other }), false)
    assert.equal(await take('bob', { name: 'shop' }), true)
  })

  test('of many concurrent requests for a free or expired lease, one succeeds', async () => {
    for (const round of ['free', 'over']) {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, at) =>
          take(`${round} ${at}`, { at: at % 2 ? opened.store : opened.other }),
        ),
      )
      assert.equal(answers.filter((answer) => answer).length, 1, round)
      const winner = `${round} ${answers.indexOf(true)}`
      // Renewed for no time at all, it is over.
      await take(winner, { ms: 0 })
    }
  })

  test('its holder can renew it', async () => {
    await take('ann', { ms: 50 })
    assert.equal(await take('ann', { at: opened.other }), true)
    await take('rob', { name: 'other', ms: 50 })
    // By now the first one would have ended too.
    while (!(await take('bob', { name: 'other' }))) await pause(5)
    assert.equal(await take('bob'), false)
  })

  test('a lease that is not renewed expires', async () => {
    await take('ann', { ms: 50 })
    await taken('bob', opened.other)
    assert.equal(await take('ann'), false)
  })

  test('a released lease is free at once', async () => {
    await take('ann')
    await opened.other.releaseLease('sweep', 'ann')
    assert.equal(await take('bob'), true)
  })

  test('a lease can be released only by its holder', async () => {
    await take('ann')
    await opened.store.releaseLease('sweep', 'bob')
    await opened.store.releaseLease('shop', 'ann')
    assert.equal(await take('bob'), false)
  })
}
