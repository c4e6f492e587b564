/** What an operation uses. CPU in seconds; the client is the load generator. */
export const RESOURCES = [
  'nodeCpu',
  'postgresCpu',
  'redisCpu',
  'clientCpu',
  'statements',
  'walBytes',
  'diskBytes',
  'storedBytes',
  'postgresNetBytes',
  'redisCommands',
  'redisNetBytes',
] as const

export type Cost = Record<(typeof RESOURCES)[number], number>
export type Costs = Record<string, Cost>
/** Operations per unit, such as per mail or per second. */
export type Mix = Record<string, number>

/** Sums the costs, each times its factor. */
export function combine(terms: readonly (readonly [Cost, number])[]): Cost {
  const total = (name: keyof Cost) => terms.reduce((sum, [cost, by]) => sum + cost[name] * by, 0)
  return Object.fromEntries(RESOURCES.map((name) => [name, total(name)])) as Cost
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

interface SharedMachine {
  cores: number
  nodes: number
  /** Per second, with one node. */
  idle: Cost
}

/** Units of the mix per second that fill all cores, if nodes, PostgreSQL, Redis and clients share them. */
export function fullRate(unit: Cost, { cores, nodes, idle }: SharedMachine): number {
  const reserved = nodes * idle.nodeCpu + idle.postgresCpu + idle.redisCpu
  return (cores - reserved) / (unit.nodeCpu + unit.postgresCpu + unit.redisCpu + unit.clientCpu)
}

const SECONDS_PER_DAY = 86_400
/** The busiest minute, of the average. */
export const PEAK = 3
/** The most of a core or a link that is planned for. */
export const FULL = 0.5
/** Mail of sessions that last a day is stored for this many days on average, see docs/scaling.md. */
export const STORED_DAYS = 25 / 24

export interface Requirements {
  mailsPerSecond: number
  nodeCores: number
  postgresCores: number
  redisCores: number
  storedBytes: number
  walBytesPerSecond: number
  diskBytesPerSecond: number
  netBytesPerSecond: number
  statementsPerSecond: number
  redisCommandsPerSecond: number
}

/** What a day with this many mails requires at its peak. `perMail`: a mail and everything that comes with it. */
export function requirementsOf(mailsPerDay: number, perMail: Cost): Requirements {
  const peak = (mailsPerDay / SECONDS_PER_DAY) * PEAK
  return {
    mailsPerSecond: peak,
    nodeCores: (peak * perMail.nodeCpu) / FULL,
    postgresCores: (peak * perMail.postgresCpu) / FULL,
    redisCores: (peak * perMail.redisCpu) / FULL,
    storedBytes: mailsPerDay * STORED_DAYS * perMail.storedBytes,
    walBytesPerSecond: peak * perMail.walBytes,
    diskBytesPerSecond: peak * perMail.diskBytes,
    netBytesPerSecond: peak * (perMail.postgresNetBytes + perMail.redisNetBytes),
    statementsPerSecond: peak * perMail.statements,
    redisCommandsPerSecond: peak * perMail.redisCommands,
  }
}
