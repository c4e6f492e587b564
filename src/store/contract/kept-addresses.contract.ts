import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  at,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  newSession,
  type OpenMailStore,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'

/** An address that is not assigned again, whatever becomes of its session. */
export function keptAddressesContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture
  beforeEach(async () => {
    fixture = await openFixture(await open())
  })
  afterEach(() => fixture.close())

  const keep = (tokenHash: string, createdAt = START) =>
    fixture.store.createSession({
      ...newSession('kept@box.test', { tokenHash, createdAt, lifeMs: HOUR }),
      isKept: true,
    })

  test('is not assigned again, also when nothing is left of its session', async () => {
    expect(await keep('first')).toBeTruthy()
    expect(await fixture.take('kept@box.test', 'second')).toBeUndefined()
    const later = at(HOUR + COOLDOWN)
    expect(await fixture.take('kept@box.test', 'second', later)).toBeUndefined()
    await fixture.sweepAll(at(2 * HOUR + COOLDOWN))
    expect(await fixture.other.findSession('first')).toBeUndefined()
    const muchLater = at(400 * DAY)
    expect(await fixture.take('kept@box.test', 'second', muchLater)).toBeUndefined()
    expect(await keep('third', muchLater)).toBeUndefined()
    const random = newSession('kept@box.test', {
      ...{ tokenHash: 'random', createdAt: muchLater, lifeMs: HOUR },
    })
    expect(await fixture.store.createSession({ ...random, isRandom: true })).toBeUndefined()
    expect(await fixture.take('other@box.test', 'fourth', muchLater)).toBeTruthy()
  })

  test('is revived by its owner', async () => {
    const kept = await keep('first')
    expect.assert(kept)
    const times = { now: at(HOUR), expiresAt: at(3 * HOUR), cooldownMs: COOLDOWN }
    const revived = await fixture.store.reviveSession({ mailbox: kept.id, ...times })
    expect(revived?.address).toBe('kept@box.test')
  })

  test('was free for one of two that wanted it at once', async () => {
    const made = await Promise.all([keep('a'), fixture.take('kept@box.test', 'b'), keep('c')])
    expect(made.filter((one) => one !== undefined)).toHaveLength(1)
  })

  test('may be one that an ordinary session had before', async () => {
    expect(await fixture.take('kept@box.test', 'before')).toBeTruthy()
    expect(await keep('early', at(2 * HOUR))).toBeUndefined()
    expect(await keep('late', at(HOUR + COOLDOWN))).toBeTruthy()
  })
}
