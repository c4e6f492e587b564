import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  at,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  MINUTE,
  openFixture,
} from '../../../test/kit/store/fixture.ts'
import type { SeriesName } from '../../admin/series/rules.ts'
import type { SeriesMinute } from '../../admin/series/store.ts'
import type { OpenShareStore } from './shares.contract.ts'

export function seriesContract(open: () => Promise<OpenShareStore>): void {
  let opened: OpenShareStore
  let fixture: Fixture
  beforeEach(async () => {
    opened = await open()
    fixture = await openFixture(opened)
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
    expect(rows[0]).toStrictEqual([0, { stored: 7 }])
    expect(new Set(rows.slice(1).map((row) => JSON.stringify(row)))).toStrictEqual(
      new Set([
        JSON.stringify([MINUTE, { stored: 2 }]),
        JSON.stringify([MINUTE, { stored: 3, full: 1 }]),
      ]),
    )
    expect(await read('waiting')).toStrictEqual([[MINUTE, { '': 1 }]])
    expect(await read('mails', MINUTE)).toStrictEqual([[0, { stored: 7 }]])
  })

  test('a minute that is saved again is not counted twice', async () => {
    await save(0, 'one', { mails: { stored: 2 } })
    await save(0, 'one', { mails: { stored: 2 } })
    expect(await read('mails')).toStrictEqual([[0, { stored: 2 }]])
    await save(0, 'one', { mails: { stored: 5 } })
    expect(await read('mails')).toStrictEqual([[0, { stored: 5 }]])
  })

  test('of the installation there is one row, whichever node saves it', async () => {
    await save(0, 'one', { sessions: { '': 10 } })
    await save(0, 'two', { sessions: { '': 11 } })
    expect(await read('sessions')).toStrictEqual([[0, { '': 11 }]])
  })

  test('minutes are rolled up to hours after a day', async () => {
    for (const node of ['one', 'two']) {
      await save(0, node, { mails: { stored: 1 }, waiting: { '': 4 } })
      await save(59 * MINUTE, node, { mails: { stored: 2, full: 1 }, waiting: { '': 6 } })
      await save(HOUR, node, { mails: { stored: 4 } })
    }
    await fixture.store.sweepSeries(at(25 * HOUR - 1))
    expect((await read('mails')).length).toBe(6)
    await fixture.store.sweepSeries(at(25 * HOUR))
    const [hour, ...minutes] = await read('mails')
    expect(hour).toStrictEqual([0, { stored: 6, full: 2 }])
    expect(minutes).toStrictEqual([
      [HOUR, { stored: 4 }],
      [HOUR, { stored: 4 }],
    ])
    expect(await read('waiting')).toStrictEqual([[0, { '': 12 }]])
  })

  test('a minute that is saved after the roll-up is added to its hour', async () => {
    await save(0, 'one', { mails: { stored: 1 } })
    await fixture.store.sweepSeries(at(25 * HOUR))
    await save(MINUTE, 'late', { mails: { stored: 2 } })
    await fixture.store.sweepSeries(at(25 * HOUR))
    expect(await read('mails')).toStrictEqual([[0, { stored: 3 }]])
  })

  test.each([0, MINUTE])(
    'the largest of an hour stays, if a sample is saved late (%i)',
    async (ms) => {
      await save(0, 'one', { waiting: { '': 10 }, sessions: { '': 5 } })
      await save(2 * MINUTE, 'one', { waiting: { '': 20 }, sessions: { '': 7 } })
      await fixture.store.sweepSeries(at(25 * HOUR))
      await save(ms, 'late', { waiting: { '': 4 }, sessions: { '': 1 } })
      await fixture.store.sweepSeries(at(25 * HOUR))
      expect(await read('waiting')).toStrictEqual([[0, { '': 20 }]])
      expect(await read('sessions')).toStrictEqual([[0, { '': 7 }]])
    },
  )

  test('of concurrent roll-ups none counts twice or loses a count', async () => {
    for (let minute = 0; minute < 60; minute += 1) {
      await save(minute * MINUTE, 'one', { mails: { stored: 1 } })
    }
    const both = [fixture.store, fixture.other, fixture.store, fixture.other]
    await Promise.all(both.map((store) => store.sweepSeries(at(2 * DAY))))
    expect(await read('mails')).toStrictEqual([[0, { stored: 60 }]])
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
    expect(await read('mails')).toStrictEqual([[0, { stored: 30 }]])
  })

  test('hours are deleted after 30 days', async () => {
    await save(0, 'one', { mails: { stored: 1 } })
    await save(HOUR, 'one', { mails: { stored: 2 } })
    await fixture.store.sweepSeries(at(30 * DAY + HOUR - 1))
    expect((await read('mails')).length).toBe(2)
    await fixture.store.sweepSeries(at(30 * DAY + HOUR))
    expect(await read('mails')).toStrictEqual([[HOUR, { stored: 2 }]])
  })

  test('a series that this version does not have is swept after 30 days', async () => {
    const values = `('former', 60, ${at(0).getTime()}, '', '{}')`
    await opened.execute(`insert into {mail}series values ${values}`)
    const left = async () => (await opened.query('select 1 from {mail}series')).length
    await fixture.store.sweepSeries(at(30 * DAY))
    expect(await left()).toBe(1)
    await fixture.store.sweepSeries(at(30 * DAY + HOUR))
    expect(await left()).toBe(0)
  })

  test('levels: live sessions, the oldest expiry that is not swept, bytes on disk', async () => {
    const before = await fixture.other.readStoreLevels(at(1))
    expect(before.oldestExpiry).toBeUndefined()
    await fixture.session('ann@box.test', HOUR)
    await fixture.session('bob@box.test', 2 * HOUR)
    const ended = await fixture.session('cid@box.test', 2 * HOUR)
    await fixture.store.endSession(ended.id, at(90 * MINUTE))
    const levels = async (ms: number) => {
      const { liveSessions, oldestExpiry } = await fixture.other.readStoreLevels(at(ms))
      return [liveSessions, oldestExpiry]
    }
    expect(await levels(1)).toStrictEqual([3, at(HOUR)])
    expect(await levels(HOUR)).toStrictEqual([2, at(HOUR)])
    expect(await levels(100 * MINUTE)).toStrictEqual([1, at(HOUR)])
    await fixture.sweepAll(at(HOUR + 2 * MINUTE))
    expect(await levels(100 * MINUTE)).toStrictEqual([1, at(90 * MINUTE)])
    const filled = await fixture.other.readStoreLevels(at(1))
    await fixture.send(['bob@box.test'], { raw: randomBytes(9_000) })
    const { storedBytes } = await fixture.other.readStoreLevels(at(1))
    expect(storedBytes, `${filled.storedBytes}, ${storedBytes}`).toBeGreaterThanOrEqual(
      filled.storedBytes + 8_000,
    )
  })

  test('levels: a swept session that is revived is not waiting to be swept', async () => {
    const { id } = await fixture.session('ann@box.test', HOUR)
    await fixture.sweepAll(at(2 * HOUR))
    const [now, expiresAt] = [at(20 * DAY), at(21 * DAY)]
    expect(
      await fixture.store.reviveSession({ mailbox: id, now, expiresAt, cooldownMs: COOLDOWN }),
    ).toBeTruthy()
    expect((await fixture.other.readStoreLevels(now)).oldestExpiry).toStrictEqual(expiresAt)
  })
}
