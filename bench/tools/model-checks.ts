import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Cost,
  combine,
  costOnNodes,
  fullRate,
  idleOf,
  LOADS,
  type Load,
  type Model,
  medianCost,
} from './capacity.ts'
import { costPer, type Metered } from './meter.ts'
import { arriveFor, type OperationName, type Operations, repeatFor } from './operations.ts'
import { quick } from './options.ts'
import { figure, median, progress, publishTable, reportTable, say } from './report.ts'

const WARM_SECONDS = quick ? 0.5 : 6
const CHECK_SECONDS = quick ? 1 : 8
/** Of many at a time, per node. */
export const CONCURRENCY = 20
/** The rate under light load, of the one that fills the cores. */
const LIGHT = 0.3
const MAX_ERROR = 0.2

/** Of 100 operations. No cost is measured under it. */
export const CHECK_MIX: Partial<Record<OperationName, number>> = {
  'mail of 4 KB': 16,
  'mail of 50 KB': 2,
  'mail to a stream': 4,
  'mail to a wait': 2,
  'mail to a webhook': 2,
  'poll, 304': 52,
  'poll, list': 12,
  session: 5,
  '/emails request': 5,
}
const SUM = 100

interface Measured {
  perSecond: number
  cost: Cost
}

/** What the mix costs with the nodes that there are, when the cores are full and when they are not. */
export async function measureMix(
  metered: Metered,
  { perform }: Operations,
): Promise<Record<Load, Measured>> {
  const nodes = metered.nodes.length
  progress(`  mix, ${nodes} nodes`)
  const turns = Object.entries(CHECK_MIX).flatMap(([name, count]) =>
    Array.from({ length: count }, () => name as OperationName),
  )
  let turn = 0
  const operation = async () => {
    // 37 and 100 have no common divisor: the operations alternate.
    turn += 37
    await perform(turns[turn % SUM] as OperationName)
  }
  const busily = (seconds: number) => repeatFor(seconds, CONCURRENCY * nodes, operation)
  const measure = async (work: () => Promise<number>): Promise<Measured> => {
    let perSecond = 0
    const cost = await costPer(metered, async () => {
      const start = performance.now()
      const count = await work()
      perSecond = (count / (performance.now() - start)) * 1_000
      return count
    })
    return { perSecond, cost }
  }
  await busily(WARM_SECONDS)
  const full = await measure(() => busily(CHECK_SECONDS))
  await pause(500)
  const light = await measure(() => arriveFor(CHECK_SECONDS, full.perSecond * LIGHT, operation))
  return { light, full }
}

/** The mix with so many nodes, in all rounds. */
export interface MixOnNodes {
  nodes: number
  streams: number
  rounds: readonly Record<Load, Measured>[]
}

export function compare(model: Model, { nodes, streams, rounds }: MixOnNodes) {
  const mix = Object.fromEntries(Object.entries(CHECK_MIX).map(([name, of]) => [name, of / SUM]))
  return LOADS.map((load) => {
    const measured = {
      perSecond: median(rounds.map((round) => round[load].perSecond)),
      cost: medianCost(rounds.map((round) => round[load].cost)),
    }
    const unit = costOnNodes(model, { mix, load, nodes })
    const idle = idleOf(model, { nodes, streams })
    const perSecond =
      load === 'full' ? fullRate(unit, idle, availableParallelism()) : measured.perSecond
    const cost = combine([
      [unit, 1],
      [idle, 1 / perSecond],
    ])
    return { nodes, load, predicted: { perSecond, cost }, measured }
  })
}

type Comparison = ReturnType<typeof compare>[number]

const US = 1e6
const KB = 1 / 1_024
const COLUMNS: readonly [name: string, value: (measured: Measured) => number][] = [
  ['operations/s', ({ perSecond }) => perSecond],
  ['node CPU µs', ({ cost }) => cost.nodeCpu * US],
  ['PostgreSQL CPU µs', ({ cost }) => cost.postgresCpu * US],
  ['Redis CPU µs', ({ cost }) => cost.redisCpu * US],
  ['statements', ({ cost }) => cost.statements],
  ['transactions', ({ cost }) => cost.transactions],
  ['WAL KB', ({ cost }) => cost.walBytes * KB],
  ['stored KB', ({ cost }) => cost.storedBytes * KB],
  ['KB to and from PostgreSQL', ({ cost }) => cost.postgresNetBytes * KB],
  ['Redis commands', ({ cost }) => cost.redisCommands],
  ['KB to and from Redis', ({ cost }) => cost.redisNetBytes * KB],
]

export function reportChecks(checks: readonly Comparison[]): void {
  const rowsOf = (check: Comparison) => [String(check.nodes), check.load]
  say(
    '',
    '### Model and measurement of a mix',
    '',
    `- The mix, of ${SUM}: ${Object.entries(CHECK_MIX)
      .map(([name, count]) => `${count} ${name}`)
      .join('; ')}`,
    `- full: ${CONCURRENCY} at a time per node; the predicted rate fills all cores. light: arrivals at random, at ${LIGHT} of the rate measured under full load.`,
    '- Nodes, PostgreSQL, Redis and the load generator share the cores: this does not check what separate machines do.',
  )
  reportTable(
    ['nodes', 'load', '', ...COLUMNS.map(([name]) => name)],
    checks.flatMap((check) =>
      (['predicted', 'measured'] as const).map((side) => [
        ...[...rowsOf(check), side],
        ...COLUMNS.map(([, value]) => figure(value(check[side]))),
      ]),
    ),
  )
  say('Predicted of measured; bold: not within 20 %.')
  publishTable(
    'checks',
    ['nodes', 'load', ...COLUMNS.map(([name]) => name.replace(/ µs| KB$|^KB /, ''))],
    checks.map((check) => [
      ...rowsOf(check),
      ...COLUMNS.map(([, value], column) =>
        check.load === 'light' && column === 0
          ? ''
          : shareText(value(check.predicted) / value(check.measured)),
      ),
    ]),
  )
}

export function shareText(share: number): string {
  return Math.abs(share - 1) <= MAX_ERROR ? figure(share) : `**${figure(share)}**`
}
