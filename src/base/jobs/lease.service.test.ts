import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { OpenMailStore } from '../../../test/kit/store/fixture.ts'
import { openPostgres, type Postgres } from '../../../test/kit/store/postgres.ts'
import { openPostgresTestMail } from '../../../test/kit/store/postgres-stores.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { type LeaseDeps, type LeaseTiming, runUnderLease, untilAborted } from './lease.ts'

type Leases = LeaseDeps['store']
const TIMING: LeaseTiming = {
  ttlMs: 300,
  renewMs: 50,
  stopMarginMs: 100,
  retryMs: 20,
  stopTimeoutMs: 100,
}
/** For tests in which the lease must not expire. */
const LONG: LeaseTiming = { ...TIMING, ttlMs: 600_000 }
/** For tests of its end: a holder stops long before it, so that a machine that stalls meanwhile changes no order. */
const EARLY: LeaseTiming = { ...TIMING, ttlMs: 61_000, stopMarginMs: 60_000 }
const never = new Promise<never>(() => {})

let postgres: Postgres
beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

let opened: OpenMailStore
/** In the order in which they happened. */
let actions: string[]
let running: Set<string>
let overlaps: string[]
let errors: string[]
let ends: (() => Promise<void>)[]
beforeEach(() => {
  actions = []
  errors = []
  running = new Set()
  overlaps = []
  ends = []
})
afterEach(async () => {
  for (const end of ends) await end()
  await opened.close()
  expect(overlaps).toStrictEqual([])
})

interface Options {
  timing?: LeaseTiming
  /** Runs between the stop signal and the end of the operation. */
  stopping?: () => Promise<void>
}

/** Runs as this holder whenever it has the lease; the returned function ends it. */
function start(holder: string, store: Leases, { timing = TIMING, stopping }: Options = {}) {
  const ended = new AbortController()
  const operation = async (stop: AbortSignal) => {
    if (running.size > 0) overlaps.push(`${holder} begins while ${[...running]} works`)
    running.add(holder)
    actions.push(`${holder} begins`)
    await untilAborted(stop)
    await stopping?.()
    running.delete(holder)
    actions.push(`${holder} stops`)
  }
  const log = {
    warn() {},
    error: (facts: Record<string, unknown>) => errors.push(String(facts['err'])),
  }
  const task = { name: 'sweep', operation, ended: ended.signal }
  const done = runUnderLease({ store, log, timing }, task)
  const end = async () => {
    ended.abort()
    await done
  }
  ends.push(end)
  return end
}

const untilRunning = (holder: string) => waitUntil(() => running.has(holder))

for (const [engine, open] of [
  ['SQLite', () => openSqliteTestMail()],
  ['PostgreSQL', () => openPostgresTestMail(postgres)],
] as const) {
  describe(`on ${engine}`, () => {
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => expect(errors).toStrictEqual([]))

    test('a lease is released once the operation of its holder has stopped', async () => {
      const slow = Promise.withResolvers<void>()
      const timing = { ...LONG, stopTimeoutMs: 600_000 }
      const end = start('ann', opened.store, { timing, stopping: () => slow.promise })
      await untilRunning('ann')
      const bob = delayedStore(opened.other)
      start('bob', bob.store, { timing: LONG })
      const ending = end()
      await waitUntil(() => bob.results.length > 2)
      slow.resolve()
      await ending
      await untilRunning('bob')
      expect(actions).toStrictEqual(['ann begins', 'ann stops', 'bob begins'])
    })

    test('a lease is renewed while the operation runs', async () => {
      const ann = delayedStore(opened.store)
      start('ann', ann.store, { timing: LONG })
      await untilRunning('ann')
      await waitUntil(() => ann.results.length > 3)
      expect(new Set(ann.results)).toStrictEqual(new Set([true]))
      expect(new Set(ann.holders).size).toBe(1)
      expect(actions).toStrictEqual(['ann begins'])
    })

    test('the lease of a crashed holder is acquired by another after it expires', async () => {
      await opened.store.acquireLease({ name: 'sweep', holder: 'ann', ms: 200 })
      start('bob', opened.other)
      await untilRunning('bob')
    })

    test('a holder cut off from the store stops before another can start', async () => {
      const ann = delayedStore(opened.store)
      const lease = { name: 'sweep', holder: 'bob', ms: 1 }
      const stopped = Promise.withResolvers<boolean>()
      const stopping = async () => stopped.resolve(await opened.other.acquireLease(lease))
      start('ann', ann.store, { timing: EARLY, stopping })
      await untilRunning('ann')
      ann.delay = () => never
      expect(await stopped.promise).toBe(false)
    })

    test('a slow response shortens the time for which the lease is valid', async () => {
      const ann = delayedStore(opened.store)
      // Too late to start.
      ann.delay = () => pause(250)
      start('ann', ann.store)
      await waitUntil(() => ann.attempts > 0)
      start('bob', opened.other, { timing: LONG })
      await untilRunning('bob')
      expect(actions).toStrictEqual(['bob begins'])
    })

    test('an operation that hangs does not block shutdown, and its lease is not released', async () => {
      const end = start('ann', opened.store, { timing: LONG, stopping: () => never })
      await untilRunning('ann')
      await end()
      const lease = { name: 'sweep', holder: 'bob', ms: 1 }
      expect(await opened.other.acquireLease(lease)).toBe(false)
    })
  })
}

test('during a PostgreSQL outage no operation runs, and afterwards exactly one does', async () => {
  const mail = await openPostgresTestMail(postgres)
  opened = mail
  start('ann', mail.store, { timing: EARLY })
  await untilRunning('ann')
  start('bob', mail.other, { timing: EARLY })
  await postgres.stop()
  await waitUntil(() => running.size === 0)
  await postgres.start()
  // As after a minute.
  await postgres.run('update mail.lease set ends_at = 0', mail.database)
  await waitUntil(() => running.size === 1)
  expect(actions.slice(0, 2)).toStrictEqual(['ann begins', 'ann stops'])
})

test('a lease taken while the clock of PostgreSQL was ahead lasts no longer than others', async () => {
  const mail = await openPostgresTestMail(postgres)
  opened = mail
  const acquire = (holder: string, ms = LONG.ttlMs) =>
    mail.store.acquireLease({ name: 'sweep', holder, ms })
  await acquire('ann')
  await postgres.run('update mail.lease set ends_at = ends_at + 1e9', mail.database)
  // Its holder may still run.
  expect(await acquire('bob', 20)).toBe(false)
  await waitUntil(() => acquire('bob'))
  await postgres.run('update mail.lease set ends_at = ends_at + 1e9', mail.database)
  expect(await acquire('ann')).toBe(false)
  expect(await acquire('bob')).toBe(true)
  expect(await acquire('ann')).toBe(false)
})

test('a release that arrives late does not release a lease acquired since', async () => {
  opened = await openSqliteTestMail()
  const ann = delayedStore(opened.store)
  // The local validity ends soon, the stored lease much later.
  const timing = { ...TIMING, ttlMs: 1_200, renewMs: 200, stopMarginMs: 700 }
  const late = Promise.withResolvers<void>()
  // From the first renewal.
  ann.delay = () => (ann.attempts > 1 ? late.promise : Promise.resolve())
  start('ann', ann.store, { timing })
  await waitUntil(() => actions.includes('ann stops'))
  ann.delay = () => Promise.resolve()
  timing.ttlMs = LONG.ttlMs
  await untilRunning('ann')
  late.resolve()
  await waitUntil(() => ann.ended.length > 0)
  expect(ann.ended).toStrictEqual(ann.holders.slice(0, 1))
  const lease = { name: 'sweep', holder: 'bob', ms: 1 }
  expect(await opened.other.acquireLease(lease)).toBe(false)
})

test('a failed operation is logged and started again', async () => {
  opened = await openSqliteTestMail()
  const ended = new AbortController()
  let times = 0
  const operation = async () => {
    times += 1
    if (times === 1) throw new Error('full')
    ended.abort()
  }
  const log = { warn() {}, error: (facts: object) => errors.push(JSON.stringify(facts)) }
  const deps = { store: opened.store, log, timing: LONG }
  await runUnderLease(deps, { name: 'sweep', operation, ended: ended.signal })
  expect(errors.length).toBe(1)
})

/** A connection to a store that counts calls and can delay responses. */
function delayedStore(store: Leases) {
  const connection = {
    attempts: 0,
    results: [] as boolean[],
    ended: [] as string[],
    holders: [] as string[],
    delay: (): Promise<void> => Promise.resolve(),
    store: {
      async releaseLease(name: string, holder: string) {
        await store.releaseLease(name, holder)
        connection.ended.push(holder)
      },
      async acquireLease(lease: Parameters<Leases['acquireLease']>[0]) {
        connection.holders.push(lease.holder)
        const isAcquired = await store.acquireLease(lease)
        connection.attempts += 1
        await connection.delay()
        connection.results.push(isAcquired)
        return isAcquired
      },
    },
  }
  return connection
}
