import { availableParallelism } from 'node:os'
import { type Cost, type Costs, combine, costOf, fullRate } from './capacity.ts'
import { costPer, type Metered } from './meter.ts'
import { inTurns, type Operations } from './operations.ts'
import { quick } from './options.ts'
import { figure, progress, reportGoal, reportTable, say } from './report.ts'

const FULL_SECONDS = quick ? 2 : 20
/** For each node: with fewer, its groups are smaller than those of the node whose costs were measured. */
const FULL_CONCURRENCY = 40
const MAX_ERROR = 0.2

type Operation = keyof Operations['run']

/** Of 100 operations at full load. */
export const FULL_MIX: Partial<Record<Operation, number>> = {
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

interface Check {
  nodes: number
  predicted: Cost & { perSecond: number }
  measured: Cost & { perSecond: number }
}

/** All cores full of the mix, with the nodes that there are. */
export async function checkModel(
  metered: Metered,
  { run }: Operations,
  { costs, idle }: { costs: Costs; idle: Cost },
): Promise<Check> {
  const nodes = metered.nodes.length
  progress(`${nodes} nodes at full load`)
  const turns = Object.entries(FULL_MIX).flatMap(([name, count]) => {
    // Each has numbers of its own, so that it goes to one node, mailbox and webhook after the other.
    let last = 0
    const operation = () => {
      last += 1
      return run[name as Operation](last)
    }
    return Array.from({ length: count }, () => operation)
  })
  // 37 and 100 have no common divisor: the operations alternate.
  const operation = async (at: number) => turns[(at * 37) % turns.length]?.()
  const runFor = async (seconds: number) => {
    const start = performance.now()
    let done = 0
    const end = start + seconds * 1_000
    await inTurns(Number.POSITIVE_INFINITY, FULL_CONCURRENCY * nodes, operation, () => {
      done += 1
      return performance.now() < end
    })
    return { done, seconds: (performance.now() - start) / 1_000 }
  }
  await runFor(FULL_SECONDS / 4)
  let perSecond = 0
  const measured = await costPer(metered, async () => {
    const { done, seconds } = await runFor(FULL_SECONDS)
    perSecond = done / seconds
    return done
  })
  const mix = Object.fromEntries(
    Object.entries(FULL_MIX).map(([name, count]) => [name, count / turns.length]),
  )
  const unit = costOf(mix, costs)
  const rate = fullRate(unit, { cores: availableParallelism(), nodes, idle })
  const used = combine([
    [unit, 1],
    [{ ...idle, nodeCpu: idle.nodeCpu * nodes }, 1 / rate],
  ])
  return { nodes, predicted: { ...used, perSecond: rate }, measured: { ...measured, perSecond } }
}

const CHECKED = ['perSecond', 'nodeCpu', 'postgresCpu', 'redisCpu', 'clientCpu'] as const
/** What a forecast of machines follows from. */
const GOALS = { perSecond: 'rate', nodeCpu: 'CPU of the nodes', postgresCpu: 'CPU of PostgreSQL' }

export function reportChecks(checks: readonly Check[]): void {
  say(
    '',
    `### Model and measurement, ${FULL_CONCURRENCY} operations of a mix at a time per node`,
    '',
    `- The mix, of 100: ${Object.entries(FULL_MIX)
      .map(([name, count]) => `${count} ${name}`)
      .join('; ')}`,
    '- Nodes, PostgreSQL, Redis and the load generator share the cores: what can be checked is the CPU of an operation and the rate at which the cores are full, not what separate machines do.',
  )
  reportTable(
    ['nodes', '', 'operations/s', 'node CPU µs', 'PostgreSQL', 'Redis', 'load generator'],
    checks.flatMap(({ nodes, predicted, measured }) =>
      [['predicted', predicted] as const, ['measured', measured] as const].map(([name, values]) => [
        String(nodes),
        name,
        ...CHECKED.map((field) => figure(values[field] * (field === 'perSecond' ? 1 : 1e6))),
      ]),
    ),
  )
  for (const { nodes, predicted, measured } of checks)
    for (const [field, name] of Object.entries(GOALS)) {
      const share = predicted[field as keyof typeof GOALS] / measured[field as keyof typeof GOALS]
      const met = Math.abs(share - 1) <= MAX_ERROR
      reportGoal(`${nodes} nodes: predicted ${name} of the measured: 0.8 to 1.2`, share, met)
    }
}
