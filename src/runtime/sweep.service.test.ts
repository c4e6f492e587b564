import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { openSqliteTestMail, openSqliteTestShop } from '../../test/support/stores.ts'
import { COOLDOWN, DAY, type Fixture, HOUR, openFixture, START } from '../store/contract/fixture.ts'
import type { Store } from '../store/store.ts'
import { seriesSweepStep, startShopJobs, startSweep, sweepStep } from './background.ts'
import { guardClock } from './clock-guard.ts'
import { readConfig } from './config.ts'

const RETENTION = { cooldownMs: COOLDOWN, poolMs: DAY, operatorMs: 30 * DAY }
const LIMITS = {
  mailbox: { maxMessages: 9, maxBytes: 1e6 },
  poolMaxBytes: 1e6,
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
  const step = sweepStep(RETENTION, { store: fixture.store, now, guard })
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
  assert.deepEqual(await fixture.subjects(id), ['hello'])
  assert.match(sweep.warning() ?? '', /^The system clock jumped ahead by 4320 minutes\./)
  await sweep.pass(-3 * DAY, 5_000)
  await sweep.pass(HOUR / 4, HOUR / 4)
  assert.deepEqual(await fixture.subjects(id), ['hello'])
  assert.ok(
    await fixture.store.extendSession(id, new Date(clocks.wallMs + HOUR), new Date(clocks.wallMs)),
  )
})

test('a machine that was suspended deletes expired mail after an hour', async () => {
  const { id } = await fixture.session('ann@box.test', HOUR)
  await fixture.send(['ann@box.test'])
  const sweep = openSweep()
  await sweep.pass(8 * HOUR, 0)
  await sweep.pass(HOUR - 1, HOUR - 1)
  assert.deepEqual(await fixture.subjects(id), ['hello'])
  await sweep.pass(1, 1)
  assert.deepEqual(await fixture.subjects(id), [])
  assert.equal(sweep.warning(), undefined)
  assert.deepEqual(logged, [
    'system clock jumped ahead: expired mail is kept until it runs steadily',
    'system clock ran steadily for an hour: expired mail is deleted again',
  ])
})

test('no series are swept while the wall clock is ahead', async () => {
  const mails = { at: START, node: 'one', counts: { mails: { stored: 1 } } }
  await fixture.store.saveMinute(mails)
  const guard = guardClock(() => clocks, silentLog)
  const now = () => new Date(clocks.wallMs)
  const step = seriesSweepStep({ store: fixture.store, now, guard })
  const read = () =>
    fixture.store.readSeries({ name: 'mails', from: START, until: new Date(START.getTime() + DAY) })
  clocks = { wallMs: START.getTime() + 31 * DAY, monotonicMs: 5_000 }
  await step()
  assert.equal((await read()).length, 1)
  clocks = { wallMs: clocks.wallMs + 2 * HOUR, monotonicMs: 5_000 + 2 * HOUR }
  await step()
  assert.equal((await read()).length, 0)
})

test('the sweep of the service sweeps mail and series', async () => {
  const [swept, sweptSeries] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const store: Store = {
    ...mail.store,
    async sweep(options) {
      swept.resolve()
      return await mail.store.sweep(options)
    },
    async sweepSeries(now) {
      sweptSeries.resolve()
      await mail.store.sweepSeries(now)
    },
  }
  const { config } = readConfig({ env: {}, file: {} })
  const sweep = startSweep(config, { store, now: () => NOON, log: silentLog })
  await Promise.all([swept.promise, sweptSeries.promise])
  await sweep.stop()
})

const NOON = new Date('2026-03-01T12:00:00Z')
type Leases = Pick<Store, 'acquireLease' | 'releaseLease'>
const silentLog = { debug() {}, info() {}, warn() {}, error() {} }

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

const start = (store: Leases, swept: () => void) => {
  const { config } = readConfig({ env: {}, file: {} })
  const sweepShop = async (now: Date) => {
    swept()
    return await shop.store.sweepShop(now)
  }
  const deps = { store, shop: { ...shop.store, sweepShop }, now: () => NOON, log: silentLog }
  return startShopJobs(config, deps)
}

test('the shop is swept even if keys are issued manually', async () => {
  const swept = Promise.withResolvers<void>()
  const stop = await start(mail.store, swept.resolve)
  await swept.promise
  await stop()
})

test('of two nodes one runs the shop jobs; when it stops, the other takes over', async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stopFirst = await start(mail.store, first.resolve)
  await first.promise
  const acquired = Promise.withResolvers<boolean>()
  const secondLeases: Leases = {
    ...mail.other,
    async acquireLease(lease) {
      const isAcquired = await mail.other.acquireLease(lease)
      acquired.resolve(isAcquired)
      return isAcquired
    },
  }
  const stopSecond = await start(secondLeases, second.resolve)
  assert.equal(await acquired.promise, false)
  await stopFirst()
  await second.promise
  await stopSecond()
})
