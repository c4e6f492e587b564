import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Cost,
  combine,
  costOnNodes,
  costsWithSharing,
  cpuOf,
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

/** Of 100 operations. */
type Percents = Partial<Record<OperationName, number>>

/** No cost is measured under it. */
export const CHECK_MIX: Percents = {
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
/** Measures contention. Simpler than the mix that is predicted with it, and a part of it. */
const REFERENCE_MIX: Percents = { 'mail of 4 KB': 20, 'poll, 304': 80 }
const SUM = 100

interface Measured {
  perSecond: number
  cost: Cost
}

type MeasuredMix = Record<Load | 'reference', Measured>

/** What the mix costs with the nodes that there are, when the cores are full and when they are not. */
export async function measureMix(metered: Metered, { perform }: Operations): Promise<MeasuredMix> {
  const nodes = metered.nodes.length
  progress(`  mix, ${nodes} nodes`)
  const operationOf = (mix: Percents) => {
    const turns = Object.entries(mix).flatMap(([name, count]) =>
      Array.from({ length: count }, () => name as OperationName),
    )
    let turn = 0
    return async () => {
      // 37 and 100 have no common divisor: the operations alternate.
      turn += 37
      await perform(turns[turn % SUM] as OperationName)
    }
  }
  const operation = operationOf(CHECK_MIX)
  const busily = (run: () => Promise<void>, seconds: number) =>
    repeatFor(seconds, CONCURRENCY * nodes, run)
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
  await busily(operation, WARM_SECONDS)
  const full = await measure(() => busily(operation, CHECK_SECONDS))
  await pause(500)
  const light = await measure(() => arriveFor(CHECK_SECONDS, full.perSecond * LIGHT, operation))
  const reference = await measure(() => busily(operationOf(REFERENCE_MIX), CHECK_SECONDS))
  return { light, full, reference }
}

/** The mix with so many nodes, in all rounds. */
export interface MixOnNodes {
  nodes: number
  streams: number
  rounds: readonly MeasuredMix[]
}

export function compare(model: Model, { nodes, streams, rounds }: MixOnNodes) {
  const idle = idleOf(model, { nodes, streams })
  const measuredOf = (what: keyof MeasuredMix): Measured => ({
    perSecond: median(rounds.map((round) => round[what].perSecond)),
    cost: medianCost(rounds.map((round) => round[what].cost)),
  })
  const withIdle = (unit: Cost, perSecond: number) =>
    combine([
      [unit, 1],
      [idle, 1 / perSecond],
    ])
  const unitOf = (percents: Percents, load: Load) => {
    const mix = Object.fromEntries(Object.entries(percents).map(([name, of]) => [name, of / SUM]))
    const full = costsWithSharing(model.costs, (name) => sharing(percents, name), CONCURRENCY)
    const costs = { ...model.costs, full }
    return costOnNodes({ ...model, costs }, { mix, load, nodes })
  }
  const { cost, perSecond } = measuredOf('reference')
  const contention = cpuOf(cost) / cpuOf(withIdle(unitOf(REFERENCE_MIX, 'full'), perSecond))

  return LOADS.map((load) => {
    const measured = measuredOf(load)
    const unit = unitOf(CHECK_MIX, load)
    if (load === 'light') {
      const { perSecond } = measured
      const predicted = { perSecond, cost: withIdle(unit, perSecond) }
      return { nodes, load, contention: 1, predicted, measured }
    }
    const perSecond = fullRate(unit, idle, availableParallelism() / contention)
    const predicted = { perSecond, cost: slowed(withIdle(unit, perSecond), contention) }
    return { nodes, load, contention, predicted, measured }
  })
}

/** How many of a mix under way at a node are assumed to share work with this operation: mails a commit, polls a look-up. */
function sharing(mix: Percents, name: string): number {
  const [kind] = name.split(/[ ,]/)
  const same = Object.entries(mix).filter(([other]) => other.split(/[ ,]/)[0] === kind)
  return (CONCURRENCY * same.reduce((sum, [, percent]) => sum + percent, 0)) / SUM
}

function slowed(cost: Cost, factor: number): Cost {
  const { nodeCpu, postgresCpu, redisCpu, clientCpu } = combine([[cost, factor]])
  return { ...cost, nodeCpu, postgresCpu, redisCpu, clientCpu }
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
  const rowsOf = (check: Comparison) => [String(check.nodes), check.load, figure(check.contention)]
  say(
    '',
    '### Model and measurement of a mix',
    '',
    `- The mix, of ${SUM}: ${Object.entries(CHECK_MIX)
      .map(([name, count]) => `${count} ${name}`)
      .join('; ')}`,
    `- full: ${CONCURRENCY} at a time per node; the predicted rate fills all cores. light: arrivals at random, at ${LIGHT} of the rate measured under full load.`,
    `- contention: CPU that ${Object.entries(REFERENCE_MIX)
      .map(([name, count]) => `${count} ${name}`)
      .join(
        ' and ',
      )} take with full cores, of what the model says; the CPU of the mix is predicted with this factor.`,
    '- Nodes, PostgreSQL, Redis and the load generator share the cores: this does not check what separate machines do.',
  )
  reportTable(
    ['nodes', 'load', 'contention', '', ...COLUMNS.map(([name]) => name)],
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
    ['nodes', 'load', 'contention', ...COLUMNS.map(([name]) => name.replace(/ µs| KB$|^KB /, ''))],
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
