import { median } from './report.ts'

/** What an operation uses. CPU in seconds; the client is the load generator. */
export const RESOURCES = [
  'nodeCpu',
  'postgresCpu',
  'redisCpu',
  'clientCpu',
  'statements',
  // Those that write, so that their commit waits for the WAL.
  'transactions',
  'walBytes',
  'storedBytes',
  'postgresNetBytes',
  'redisCommands',
  'redisNetBytes',
  // Messages that Redis sends to all nodes.
  'wakes',
] as const

export type Cost = Record<(typeof RESOURCES)[number], number>
export type Costs = Record<string, Cost>
/** Operations per unit, such as per mail or per second. */
export type Mix = Record<string, number>

/** light: operations hardly ever meet. full: many at a time, which share commits and lookups. */
export const LOADS = ['light', 'full'] as const
export type Load = (typeof LOADS)[number]

export interface Model {
  /** By operation, on one node. */
  costs: Record<Load, Costs>
  /** What a wake costs for each further node. */
  wake: Record<Load, Cost>
  /** Per second: of what runs once, of each node and of each open stream. */
  idle: Record<'cluster' | 'node' | 'stream', Cost>
}

/** Sums the costs, each times its factor. */
export function combine(terms: readonly (readonly [Cost, number])[]): Cost {
  const total = (name: keyof Cost) => terms.reduce((sum, [cost, by]) => sum + cost[name] * by, 0)
  return Object.fromEntries(RESOURCES.map((name) => [name, total(name)])) as Cost
}

export function medianCost(costs: readonly Cost[]): Cost {
  const middle = (name: keyof Cost) => median(costs.map((cost) => cost[name]))
  return Object.fromEntries(RESOURCES.map((name) => [name, middle(name)])) as Cost
}

/** Of models of equal operations. */
export function medianModel(models: readonly Model[]): Model {
  const of = (pick: (model: Model) => Costs): Costs =>
    Object.fromEntries(
      Object.keys(pick(models[0] as Model)).map((name) => [
        name,
        medianCost(models.map((model) => pick(model)[name] as Cost)),
      ]),
    )
  return {
    costs: { light: of(({ costs }) => costs.light), full: of(({ costs }) => costs.full) },
    wake: of(({ wake }) => wake) as Model['wake'],
    idle: of(({ idle }) => idle) as Model['idle'],
  }
}

export function costOf(mix: Mix, costs: Costs): Cost {
  return combine(
    Object.entries(mix).map(([name, count]) => {
      const cost = costs[name]
      if (!cost) throw new Error(`the cost of "${name}" is not known`)
      return [cost, count]
    }),
  )
}

/** The same with several nodes, each of which receives every wake. */
export function costOnNodes(
  { costs, wake }: Model,
  { mix, load, nodes }: { mix: Mix; load: Load; nodes: number },
): Cost {
  const cost = costOf(mix, costs[load])
  return combine([
    [cost, 1],
    [wake[load], cost.wakes * (nodes - 1)],
  ])
}

export function idleOf(
  { idle }: Model,
  { nodes, streams }: { nodes: number; streams: number },
): Cost {
  return combine([
    [idle.cluster, 1],
    [idle.node, nodes],
    [idle.stream, streams],
  ])
}

/**
 * What operations cost if only some of those that are under way at a node share their work. A cost has a part of each operation,
 * and one that is the same for however many share it: full costs have it once for `most` of them, light costs for each.
 */
export function costsWithSharing(
  { light, full }: Record<Load, Costs>,
  sharing: (name: string) => number,
  most: number,
): Costs {
  return Object.fromEntries(
    Object.entries(light).map(([name, cost]) => {
      const part = (1 / Math.max(1, sharing(name)) - 1 / most) / (1 - 1 / most)
      return [
        name,
        combine([
          [cost, part],
          [full[name] ?? cost, 1 - part],
        ]),
      ]
    }),
  )
}

/** Of nodes, PostgreSQL, Redis and clients together. */
export function cpuOf({ nodeCpu, postgresCpu, redisCpu, clientCpu }: Cost): number {
  return nodeCpu + postgresCpu + redisCpu + clientCpu
}

/** Units of this cost a second that fill all cores, if nodes, PostgreSQL, Redis and clients share them. */
export function fullRate(unit: Cost, idle: Cost, cores: number): number {
  return (cores - cpuOf(idle)) / cpuOf(unit)
}
