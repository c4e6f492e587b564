import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { deliverNext, newPosition } from './deliver.ts'
import { openWebhookFixture, type WebhookFixture } from './testing/fixture.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NEW_MAIL = { waitMs: undefined }

let fixture: WebhookFixture
beforeEach(async () => {
  fixture = await openWebhookFixture()
})
afterEach(async () => {
  await fixture.close()
  expect(fixture.logged).toStrictEqual([])
})

describe('a webhook', () => {
  test('skips a message that expires before the time of the next attempt', async () => {
    const { id: keyId } = await fixture.issue()
    const id = await fixture.hook(keyId)
    await fixture.mail.session('short@box.test', HOUR, keyId)
    await fixture.send('1', 'short@box.test')
    Object.assign(fixture.receiver.state, { behaviour: 500, headers: { 'retry-after': '86400' } })
    expect(await fixture.run(id)).toStrictEqual({ waitMs: DAY })
    fixture.pass(2 * HOUR)
    // The receiver has asked for this time.
    expect(await fixture.run(id)).toStrictEqual({ waitMs: 22 * HOUR })
    expect(await fixture.used(keyId)).toBe(1)
    expect((await fixture.read(id)).gapSince).toBeTruthy()
  })

  describe('tells a gap', () => {
    const gap = async (id: string) => (await fixture.read(id)).gapSince

    test('if session mail expires while older mail fails', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      const failedAt = fixture.clock.now
      await fixture.send('pool')
      fixture.receiver.state.behaviour = 500
      await fixture.run(id)
      for (const to of ['a@box.test', 'b@box.test']) {
        await fixture.mail.session(to, MINUTE, keyId)
        await fixture.send(to, to)
      }
      fixture.pass(HOUR)
      fixture.receiver.state.behaviour = 200
      await fixture.run(id)
      expect(fixture.receiver.subjects()).toStrictEqual(['pool', 'pool'])
      expect(await gap(id)).toStrictEqual(failedAt)
    })

    test('also if it cannot be stored at first', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      await fixture.mail.session('a@box.test', MINUTE, keyId)
      await fixture.send('1', 'a@box.test')
      fixture.pass(HOUR)
      const { shop } = fixture.deps
      const failing = { ...shop, recordGap: () => Promise.reject(new Error('unavailable')) }
      const position = newPosition()
      const look = (deps: typeof fixture.deps) => deliverNext(deps, id, { position })
      await expect(look({ ...fixture.deps, shop: failing })).rejects.toThrow(/unavailable/)
      await look(fixture.deps)
      expect(await gap(id)).toBeTruthy()
    })

    test('if it falls behind, since the last message that it delivered', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      fixture.pass(MINUTE)
      const deliveredAt = fixture.clock.now
      await fixture.send('1')
      await deliverNext(fixture.deps, id)
      fixture.pass(MINUTE)
      await fixture.send('2')
      fixture.pass(23 * HOUR)
      await fixture.send('3')
      fixture.pass(HOUR)
      await fixture.mail.sweepAll(fixture.clock.now)
      await fixture.run(id)
      expect(fixture.receiver.subjects()).toStrictEqual(['1', '3'])
      expect(await gap(id)).toStrictEqual(deliveredAt)
    })

    test('if mail came and expired while nothing was delivered', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      const createdAt = fixture.clock.now
      await fixture.mail.session('a@box.test', HOUR, keyId)
      await fixture.send('1', 'a@box.test')
      fixture.pass(2 * HOUR)
      expect(await fixture.run(id)).toStrictEqual(NEW_MAIL)
      expect(await gap(id)).toStrictEqual(createdAt)
    })

    test('if mail expired while it was disabled, since the last message that it has seen', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      const seenAt = fixture.clock.now
      await fixture.send('1')
      fixture.pass(SECOND)
      fixture.receiver.state.behaviour = 410
      await fixture.run(id)
      await fixture.mail.session('a@box.test', HOUR, keyId)
      await fixture.send('2', 'a@box.test')
      fixture.pass(2 * HOUR)
      fixture.receiver.state.behaviour = 200
      await fixture.shop.enableWebhook(id)
      await fixture.run(id)
      expect(fixture.receiver.subjects()).toStrictEqual(['1', '1'])
      expect(await gap(id)).toStrictEqual(seenAt)
    })

    test('since a message came that is skipped, not since its first attempt', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      await fixture.mail.session('a@box.test', 2 * HOUR, keyId)
      const sentAt = fixture.clock.now
      await fixture.send('1', 'a@box.test')
      fixture.pass(HOUR)
      fixture.receiver.state.behaviour = 500
      await fixture.run(id)
      fixture.pass(2 * HOUR)
      await fixture.run(id)
      expect(await gap(id)).toStrictEqual(sentAt)
    })

    test('again if mail expires after a replay', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      await fixture.send('pool')
      fixture.receiver.state.behaviour = 500
      await fixture.run(id)
      const expire = async (to: string) => {
        await fixture.send(to, to)
        fixture.pass(2 * HOUR)
        await fixture.run(id)
      }
      await fixture.mail.session('a@box.test', HOUR, keyId)
      await fixture.mail.session('b@box.test', 3 * HOUR, keyId)
      await expire('a@box.test')
      expect(await gap(id)).toBeTruthy()
      await fixture.shop.replayWebhook(id, 0)
      await fixture.run(id)
      expect(await gap(id)).toBeUndefined()
      await expire('b@box.test')
      expect(await gap(id)).toBeTruthy()
    })

    test('not if the mail was examined, or its owner has ended the session', async () => {
      const { id: keyId } = await fixture.issue()
      const hooks = [
        await fixture.hook(keyId, { subject: 'wanted' }),
        await fixture.hook(keyId, { to: 'quiet@pool.test' as never }),
      ].map((id) => ({ id, position: newPosition() }))
      const look = async () => {
        for (const { id, position } of hooks)
          expect(await deliverNext(fixture.deps, id, { position })).toStrictEqual(NEW_MAIL)
      }
      await fixture.mail.session('a@box.test', HOUR, keyId)
      const { id: ended } = await fixture.mail.session('b@box.test', HOUR, keyId)
      await fixture.send('1', 'a@box.test')
      await fixture.send('2')
      fixture.pass(SECOND)
      await look()
      await fixture.send('3', 'b@box.test')
      await fixture.mail.store.endSession(ended, fixture.clock.now)
      fixture.pass(DAY + HOUR)
      await fixture.mail.sweepAll(fixture.clock.now)
      await look()
      for (const { id } of hooks) expect(await gap(id)).toBeUndefined()
    })
  })

  test('tells a gap if the mail it could not charge expires', async () => {
    const { id: keyId } = await fixture.issue({ requests: 0 })
    const id = await fixture.hook(keyId)
    await fixture.mail.session('short@box.test', HOUR, keyId)
    await fixture.send('1', 'short@box.test')
    const pausedAt = fixture.clock.now
    await fixture.run(id)
    fixture.pass(2 * HOUR)
    expect(await fixture.run(id)).toStrictEqual(NEW_MAIL)
    expect((await fixture.read(id)).gapSince).toStrictEqual(pausedAt)
  })
})
