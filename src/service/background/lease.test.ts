import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../test/support/postgres.ts'
import { openPostgresTestMail } from '../../../test/support/postgres-stores.ts'
import { openSqliteTestMail } from '../../../test/support/stores.ts'
import { waitUntil } from '../../../test/support/wait-until.ts'
import type { OpenMailStore } from '../../store/contract/fixture.ts'
import { type LeaseDeps, type LeaseTiming, runUnderLease, untilAborted } from './lease.ts'

type Leases = LeaseDeps['store']
const TEMPO: LeaseTiming = { ttl: 300, renew: 50, stopMargin: 100, retry: 20, stopTimeout: 100 }
/** For what must not wait until a lease has run out: the test would. */
const LONG: LeaseTiming = { ...TEMPO, ttl: 600_000 }
const never = new Promise<never>(() => {})

let postgres: Postgres
beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

let opened: OpenMailStore
/** Told in the order in which it happened. */
let actions: string[]
let working: Set<string>
let together: string[]
let faults: string[]
let enders: (() => Promise<void>)[]
beforeEach(() => {
  actions = []
  faults = []
  working = new Set()
  together = []
  enders = []
})
afterEach(async () => {
  for (const end of enders) await end()
  await opened.close()
  assert.deepEqual(together, [])
})

interface Wish {
  tempo?: LeaseTiming
  /** What comes between being told to stop and having stopped. */
  stopping?: () => Promise<void>
}

/** Works as this holder whenever it may; the answer ends it. */
function begin(holder: string, store: Leases, { tempo = TEMPO, stopping }: Wish = {}) {
  const ended = new AbortController()
  const operation = async (stop: AbortSignal) => {
    if (working.size > 0) together.push(`${holder} begins while ${[...working]} works`)
    working.add(holder)
    actions.push(`${holder} begins`)
    await untilAborted(stop)
    await stopping?.()
    working.delete(holder)
    actions.push(`${holder} stops`)
  }
  const log = {
    warn() {},
    error: (facts: Record<string, unknown>) => faults.push(String(facts['err'])),
  }
  let times = 0
  const newHolder = () => {
    times += 1
    return `${holder} ${times}`
  }
  const task = { name: 'sweep', operation, ended: ended.signal }
  const done = runUnderLease({ store, newHolder, log, timing: tempo }, task)
  const end = async () => {
    ended.abort()
    await done
  }
  enders.push(end)
  return end
}

const works = (holder: string) => waitUntil(() => working.has(holder))

for (const [engine, open] of [
  ['SQLite', () => openSqliteTestMail()],
  ['PostgreSQL', () => openPostgresTestMail(postgres)],
] as const) {
  describe(`on ${engine}`, () => {
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => assert.deepEqual(faults, []))

    test('who ends gives the lease up, when his deed is over', async () => {
      const slow = Promise.withResolvers<void>()
      const tempo = { ...LONG, stopTimeout: 600_000 }
      const end = begin('ann', opened.store, { tempo, stopping: () => slow.promise })
      await works('ann')
      const bob = told(opened.other)
      begin('bob', bob.store, { tempo: LONG })
      const ending = end()
      await waitUntil(() => bob.answers.length > 2)
      slow.resolve()
      await ending
      await works('bob')
      assert.deepEqual(actions, ['ann begins', 'ann stops', 'bob begins'])
    })

    test('it is renewed for as long as the deed goes on', async () => {
      const ann = told(opened.store)
      const tempo = { ...TEMPO, ttl: 1_000 }
      begin('ann', ann.store, { tempo })
      await works('ann')
      begin('bob', opened.other, { tempo })
      // Longer than it lasts.
      await waitUntil(() => ann.answers.length > (1.2 * tempo.ttl) / tempo.renew)
      assert.deepEqual(actions, ['ann begins'])
    })

    test('of who dies another takes it over', async () => {
      await opened.store.acquireLease({ name: 'sweep', holder: 'ann', ms: 200 })
      begin('bob', opened.other)
      await works('bob')
    })

    test('who is cut off from the store stops before another begins', async () => {
      const ann = told(opened.store)
      begin('ann', ann.store)
      await works('ann')
      begin('bob', opened.other)
      ann.answer = () => never
      await works('bob')
      assert.deepEqual(actions, ['ann begins', 'ann stops', 'bob begins'])
    })

    test('an answer that took its time gives less time', async () => {
      const ann = told(opened.store)
      // Too late to begin.
      ann.answer = () => pause(250)
      begin('ann', ann.store)
      await waitUntil(() => ann.decided > 0)
      begin('bob', opened.other)
      await works('bob')
      assert.deepEqual(actions, ['bob begins'])
    })

    test('a deed that hangs holds up no end, and keeps the lease', async () => {
      const end = begin('ann', opened.store, { tempo: LONG, stopping: () => never })
      await works('ann')
      await end()
      const lease = { name: 'sweep', holder: 'bob', ms: 1 }
      assert.equal(await opened.other.acquireLease(lease), false)
    })
  })
}

test('while PostgreSQL is away nobody works, and afterwards one of them does', async () => {
  opened = await openPostgresTestMail(postgres)
  begin('ann', opened.store)
  await works('ann')
  begin('bob', opened.other)
  await postgres.stop()
  await waitUntil(() => working.size === 0)
  await postgres.start()
  await waitUntil(() => working.size === 1)
  assert.deepEqual(actions.slice(0, 2), ['ann begins', 'ann stops'])
})

test('what reaches the store late does not end what was taken meanwhile', async () => {
  opened = await openSqliteTestMail()
  const ann = told(opened.store)
  // Lost soon, and hers for long after.
  begin('ann', ann.store, { tempo: { ...TEMPO, ttl: 3_000, renew: 400, stopMargin: 2_400 } })
  await works('ann')
  const late = Promise.withResolvers<void>()
  ann.answer = () => late.promise
  await waitUntil(() => actions.includes('ann stops'))
  ann.answer = () => Promise.resolve()
  await works('ann')
  late.resolve()
  await waitUntil(() => ann.ended.length > 0)
  assert.deepEqual(ann.ended, ['ann 1'])
  const lease = { name: 'sweep', holder: 'bob', ms: 1 }
  assert.equal(await opened.other.acquireLease(lease), false)
})

test('a deed that fails is told of and begun again', async () => {
  opened = await openSqliteTestMail()
  const ended = new AbortController()
  let times = 0
  const operation = async () => {
    times += 1
    if (times === 1) throw new Error('full')
    ended.abort()
  }
  const log = { warn() {}, error: (facts: object) => faults.push(JSON.stringify(facts)) }
  const deps = { store: opened.store, newHolder: () => 'ann', log, timing: LONG }
  await runUnderLease(deps, { name: 'sweep', operation, ended: ended.signal })
  assert.equal(faults.length, 1)
})

/** A way to a store that counts what goes over it, and on which answers can be held back. */
function told(store: Leases) {
  const way = {
    decided: 0,
    answers: [] as boolean[],
    ended: [] as string[],
    answer: (): Promise<void> => Promise.resolve(),
    store: {
      async releaseLease(name: string, holder: string) {
        await store.releaseLease(name, holder)
        way.ended.push(holder)
      },
      async acquireLease(lease: Parameters<Leases['acquireLease']>[0]) {
        const taken = await store.acquireLease(lease)
        way.decided += 1
        await way.answer()
        way.answers.push(taken)
        return taken
      },
    },
  }
  return way
}
