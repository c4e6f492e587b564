import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, test } from 'vitest'
import type { SeriesName } from '../../admin/series/rules.ts'
import type { SeriesMinute } from '../../admin/series/series-store.ts'
import {
  at,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  MINUTE,
  type OpenMailStore,
  openFixture,
} from './fixture.ts'

export function seriesContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture
  beforeEach(async () => {
    fixture = await openFixture(await open())
  })
  afterEach(() => fixture.close())

  const save = (ms: number, node: string, counts: SeriesMinute['counts']) =>
    fixture.store.saveMinute({ at: at(ms), node, counts })
  /** The rows from START until then, with their times since START. */
  const read = async (name: SeriesName, until = 100 * DAY) => {
    const rows = await fixture.other.readSeries({ name, from: at(0), until: at(until) })
    return rows.map(({ at: time, counts }) => [time - at(0).getTime(), counts])
  }

  test('each node has its own row of a minute', async () => {
    await save(MINUTE, 'one', { mails: { stored: 2 }, waiting: { '': 1 } })
    await save(MINUTE, 'two', { mails: { stored: 3, full: 1 } })
    await save(0, 'two', { mails: { stored: 7 } })
    const rows = await read('mails')
    assert.deepEqual(rows[0], [0, { stored: 7 }])
    assert.deepEqual(
      new Set(rows.slice(1).map((row) => JSON.stringify(row))),
      new Set([
        JSON.stringify([MINUTE, { stored: 2 }]),
        JSON.stringify([MINUTE, { stored: 3, full: 1 }]),
      ]),
    )
    assert.deepEqual(await read('waiting'), [[MINUTE, { '': 1 }]])
    assert.deepEqual(await read('mails', MINUTE), [[0, { stored: 7 }]])
  })

  test('a minute that is saved again is not counted twice', async () => {
    await save(0, 'one', { mails: { stored: 2 } })
    await save(0, 'one', { mails: { stored: 2 } })
    assert.deepEqual(await read('mails'), [[0, { stored: 2 }]])
    await save(0, 'one', { mails: { stored: 5 } })
    assert.deepEqual(await read('mails'), [[0, { stored: 5 }]])
  })

  test('of the installation there is one row, whichever node saves it', async () => {
    await save(0, 'one', { sessions: { '': 10 } })
    await save(0, 'two', { sessions: { '': 11 } })
    assert.deepEqual(await read('sessions'), [[0, { '': 11 }]])
  })

  test('minutes are rolled up to hours after a day', async () => {
    for (const node of ['one', 'two']) {
      await save(0, node, { mails: { stored: 1 }, waiting: { '': 4 } })
      await save(59 * MINUTE, node, { mails: { stored: 2, full: 1 }, waiting: { '': 6 } })
      await save(HOUR, node, { mails: { stored: 4 } })
    }
    await fixture.store.sweepSeries(at(25 * HOUR - 1))
    assert.equal((await read('mails')).length, 6)
    await fixture.store.sweepSeries(at(25 * HOUR))
    const [hour, ...minutes] = await read('mails')
    assert.deepEqual(hour, [0, { stored: 6, full: 2 }])
    assert.deepEqual(minutes, [
      [HOUR, { stored: 4 }],
      [HOUR, { stored: 4 }],
    ])
    assert.deepEqual(await read('waiting'), [[0, { '': 12 }]])
  })

  test('a minute that is saved after the roll-up is added to its hour', async () => {
    await save(0, 'one', { mails: { stored: 1 } })
    await fixture.store.sweepSeries(at(25 * HOUR))
    await save(MINUTE, 'late', { mails: { stored: 2 } })
    await fixture.store.sweepSeries(at(25 * HOUR))
    assert.deepEqual(await read('mails'), [[0, { stored: 3 }]])
  })

  test.each([0, MINUTE])(
    'the largest of an hour stays, if a sample is saved late (%i)',
    async (ms) => {
      await save(0, 'one', { waiting: { '': 10 }, sessions: { '': 5 } })
      await save(2 * MINUTE, 'one', { waiting: { '': 20 }, sessions: { '': 7 } })
      await fixture.store.sweepSeries(at(25 * HOUR))
      await save(ms, 'late', { waiting: { '': 4 }, sessions: { '': 1 } })
      await fixture.store.sweepSeries(at(25 * HOUR))
      assert.deepEqual(await read('waiting'), [[0, { '': 20 }]])
      assert.deepEqual(await read('sessions'), [[0, { '': 7 }]])
    },
  )

  test('of concurrent roll-ups none counts twice or loses a count', async () => {
    for (let minute = 0; minute < 60; minute += 1) {
      await save(minute * MINUTE, 'one', { mails: { stored: 1 } })
    }
    const both = [fixture.store, fixture.other, fixture.store, fixture.other]
    await Promise.all(both.map((store) => store.sweepSeries(at(2 * DAY))))
    assert.deepEqual(await read('mails'), [[0, { stored: 60 }]])
  })

  test('minutes that are saved during concurrent roll-ups are not lost', async () => {
    let left = 30
    const saveAll = async () => {
      for (; left > 0; left -= 1) await save((left - 1) * MINUTE, 'one', { mails: { stored: 1 } })
    }
    const sweepAll = async (store: Fixture['store']) => {
      while (left > 0) await store.sweepSeries(at(2 * DAY))
    }
    await Promise.all([saveAll(), sweepAll(fixture.store), sweepAll(fixture.other)])
    await fixture.store.sweepSeries(at(2 * DAY))
    assert.deepEqual(await read('mails'), [[0, { stored: 30 }]])
  })

  test('hours are deleted after 30 days', async () => {
    await save(0, 'one', { mails: { stored: 1 } })
    await save(HOUR, 'one', { mails: { stored: 2 } })
    await fixture.store.sweepSeries(at(30 * DAY + HOUR - 1))
    assert.equal((await read('mails')).length, 2)
    await fixture.store.sweepSeries(at(30 * DAY + HOUR))
    assert.deepEqual(await read('mails'), [[HOUR, { stored: 2 }]])
  })

  test('levels: live sessions, the oldest expiry that is not swept, bytes on disk', async () => {
    const before = await fixture.other.readStoreLevels(at(1))
    assert.equal(before.oldestExpiry, undefined)
    await fixture.session('ann@box.test', HOUR)
    await fixture.session('bob@box.test', 2 * HOUR)
    const ended = await fixture.session('cid@box.test', 2 * HOUR)
    await fixture.store.endSession(ended.id, at(90 * MINUTE))
    const levels = async (ms: number) => {
      const { liveSessions, oldestExpiry } = await fixture.other.readStoreLevels(at(ms))
      return [liveSessions, oldestExpiry]
    }
    assert.deepEqual(await levels(1), [3, at(HOUR)])
    assert.deepEqual(await levels(HOUR), [2, at(HOUR)])
    assert.deepEqual(await levels(100 * MINUTE), [1, at(HOUR)])
    await fixture.sweepAll(at(HOUR + 2 * MINUTE))
    assert.deepEqual(await levels(100 * MINUTE), [1, at(90 * MINUTE)])
    const filled = await fixture.other.readStoreLevels(at(1))
    await fixture.send(['bob@box.test'], { raw: randomBytes(9_000) })
    const { storedBytes } = await fixture.other.readStoreLevels(at(1))
    assert.ok(storedBytes >= filled.storedBytes + 8_000, `${filled.storedBytes}, ${storedBytes}`)
  })

  test('levels: a swept session that is revived is not waiting to be swept', async () => {
    const { id } = await fixture.session('ann@box.test', HOUR)
    await fixture.sweepAll(at(2 * HOUR))
    const [now, expiresAt] = [at(20 * DAY), at(21 * DAY)]
    assert.ok(
      await fixture.store.reviveSession({ mailbox: id, now, expiresAt, cooldownMs: COOLDOWN }),
    )
    assert.deepEqual((await fixture.other.readStoreLevels(now)).oldestExpiry, expiresAt)
  })
}
