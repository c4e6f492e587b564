import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { scratchMail } from '../../test/scratch.ts'
import { guardClock } from '../service/background/clock-guard.ts'
import { COOLDOWN, DAY, type Fixture, HOUR, openFixture, START } from '../store/contract/fixture.ts'
import { sweepStep } from './sweeping.ts'

const KEPT = { cooldownMs: COOLDOWN, poolMs: DAY, operatorMs: 30 * DAY }
const LIMITS = {
  mailbox: { maxMessages: 9, maxBytes: 1e6 },
  poolMaxBytes: 1e6,
  maxMailBytes: 10_000_000,
}

let fixture: Fixture
let clocks: { wallMs: number; monotonicMs: number }
let logged: string[]

beforeEach(async () => {
  fixture = await openFixture(await scratchMail(LIMITS))
  clocks = { wallMs: START.getTime(), monotonicMs: 0 }
  logged = []
})
afterEach(() => fixture.close())

/** The sweep of a service whose wall clock and monotonic clock are moved by the test. */
function openSweep() {
  const note = (_facts: object, sentence: string) => void logged.push(sentence)
  const guard = guardClock(() => clocks, { warn: note, info: note })
  const now = () => new Date(clocks.wallMs)
  const step = sweepStep(KEPT, { store: fixture.store, now, guard })
  return {
    warning: guard.warning,
    async pass(wallMs: number, monotonicMs: number) {
      clocks.wallMs += wallMs
      clocks.monotonicMs += monotonicMs
      while (await step());
    },
  }
}

test('a wall clock that jumps ahead deletes no mail, and all is there when it is corrected', async () => {
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

test('a machine that was suspended deletes what is over after an hour', async () => {
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
