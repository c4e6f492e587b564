import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  openFixture,
  START,
} from '../../test/kit/store/fixture.ts'
import { openSqliteTestMail, openSqliteTestShop } from '../../test/kit/store/stores.ts'
import { seriesSweep } from '../admin/series/jobs.ts'
import type { ShopStore, Store } from '../store/store.ts'
import { guardClock } from './clock-guard.ts'
import { readConfig } from './config.ts'
import { startSweep, sweepStep } from './sweep.ts'

const RETENTION = {
  mailLogMs: 0,
  cooldownMs: COOLDOWN,
  poolMs: DAY,
  operatorMs: 30 * DAY,
  ownMs: 30 * DAY,
}
const LIMITS = {
  mailbox: { maxMessages: 9, maxBytes: 1e6 },
  poolMaxBytes: 1e6,
  ownMaxBytes: 1e6,
  maxMailBytes: 10_000_000,
}

let fixture: Fixture
let clocks: { wallMs: number; monotonicMs: number }
let logged: string[]

beforeEach(async () => {
  fixture = await openFixture(await openSqliteTestMail(LIMITS))
  clocks = { wallMs: START.getTime(), monotonicMs: 0 }
  logged = []
})
afterEach(() => fixture.close())

/** The sweep of a service whose wall clock and monotonic clock are set by the test. */
function openSweep() {
  const record = (_facts: object, sentence: string) => void logged.push(sentence)
  const guard = guardClock(() => clocks, { warn: record, info: record })
  const now = () => new Date(clocks.wallMs)
  const { store } = fixture
  const step = sweepStep((time) => store.sweep({ ...RETENTION, now: time }), { store, now, guard })
  return {
    warning: guard.warning,
    async pass(wallMs: number, monotonicMs: number) {
      clocks.wallMs += wallMs
      clocks.monotonicMs += monotonicMs
      while (await step());
    },
  }
}

test('no mail is deleted while the wall clock is ahead, and all of it exists after the correction', async () => {
  const { id } = await fixture.session('ann@box.test', HOUR)
  await fixture.send(['ann@box.test', 'any@pool.test'])
  const sweep = openSweep()
  await sweep.pass(3 * DAY, 5_000)
  await sweep.pass(HOUR / 2, HOUR / 2)
  expect(await fixture.subjects(id)).toStrictEqual(['hello'])
  expect(sweep.warning() ?? '').toMatch(/^The system clock jumped ahead by 4320 minutes\./)
  await sweep.pass(-3 * DAY, 5_000)
  await sweep.pass(HOUR / 4, HOUR / 4)
  expect(await fixture.subjects(id)).toStrictEqual(['hello'])
  expect(
    await fixture.store.extendSession(id, new Date(clocks.wallMs + HOUR), new Date(clocks.wallMs)),
  ).toBeTruthy()
})

test('a machine that was suspended deletes expired mail after an hour', async () => {
  const { id } = await fixture.session('ann@box.test', HOUR)
  await fixture.send(['ann@box.test'])
  const sweep = openSweep()
  await sweep.pass(8 * HOUR, 0)
  await sweep.pass(HOUR - 1, HOUR - 1)
  expect(await fixture.subjects(id)).toStrictEqual(['hello'])
  await sweep.pass(1, 1)
  expect(await fixture.subjects(id)).toStrictEqual([])
  expect(sweep.warning()).toBeUndefined()
  expect(logged).toStrictEqual([
    'system clock jumped ahead: expired mail is kept until it runs steadily',
    'system clock ran steadily for an hour: expired mail is deleted again',
  ])
})

test('no series are swept while the wall clock is ahead', async () => {
  const mails = { at: START, node: 'one', counts: { mails: { stored: 1 } } }
  await fixture.store.saveMinute(mails)
  const guard = guardClock(() => clocks, silentLog)
  const now = () => new Date(clocks.wallMs)
  const { store } = fixture
  const step = sweepStep((time) => seriesSweep.step(store, time), { store, now, guard })
  const read = () =>
    fixture.store.readSeries({ name: 'mails', from: START, until: new Date(START.getTime() + DAY) })
  clocks = { wallMs: START.getTime() + 31 * DAY, monotonicMs: 5_000 }
  await step()
  expect((await read()).length).toBe(1)
  clocks = { wallMs: clocks.wallMs + 2 * HOUR, monotonicMs: 5_000 + 2 * HOUR }
  await step()
  expect((await read()).length).toBe(0)
})

const NOON = new Date('2026-03-01T12:00:00Z')
const silentLog = { debug() {}, info() {}, warn() {}, error() {} }
const SWEEPS = ['sweep', 'sweepBlocks', 'sweepSeries', 'sweepShop'] as const

let shop: Awaited<ReturnType<typeof openSqliteTestShop>>
let mail: Awaited<ReturnType<typeof openSqliteTestMail>>
beforeEach(async () => {
  shop = await openSqliteTestShop()
  mail = await openSqliteTestMail()
})
afterEach(async () => {
  await shop.close()
  await mail.close()
})

/** The sweep of a service; `swept` is called with the name of each part. */
function start(
  leases: Pick<Store, 'acquireLease' | 'releaseLease'>,
  swept: (name: string) => void,
) {
  const noting = <T extends object>(store: T): T =>
    new Proxy(store, {
      get(target, name) {
        if (SWEEPS.some((one) => one === name)) swept(String(name))
        return Reflect.get(target, name)
      },
    })
  const { config } = readConfig({ env: {}, file: {} })
  const store: Store = noting({ ...mail.store, ...leases })
  const shopStore: ShopStore = noting(shop.store)
  return startSweep({ config, store, shop: shopStore, now: () => NOON, log: silentLog })
}

test('the sweep of the service sweeps mail, blocks, series and the shop', async () => {
  const left = new Set<string>(SWEEPS)
  const done = Promise.withResolvers<void>()
  const { stop } = start(mail.store, (name) => {
    left.delete(name)
    if (left.size === 0) done.resolve()
  })
  await done.promise
  await stop()
})

test('of two nodes one sweeps; when it stops, the other takes over', async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { stop: stopFirst } = start(mail.store, () => first.resolve())
  await first.promise
  const acquired = Promise.withResolvers<boolean>()
  const { stop: stopSecond } = start(
    {
      ...mail.other,
      async acquireLease(lease) {
        const isAcquired = await mail.other.acquireLease(lease)
        acquired.resolve(isAcquired)
        return isAcquired
      },
    },
    () => second.resolve(),
  )
  expect(await acquired.promise).toBe(false)
  await stopFirst()
  await second.promise
  await stopSecond()
})
