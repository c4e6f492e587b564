import { combine, LOADS, type Model } from './capacity.ts'
import {
  type Cluster,
  cellsFor,
  clusterFor,
  DAY_MIX,
  LIMITS,
  mostMails,
  PLAN,
  shareAfterOutage,
  shareOfNodes,
} from './cells.ts'
import { simulate } from './queues.ts'
import { figure, median, percentile, progress, publishTable, say } from './report.ts'

const MAILS_PER_DAY = [1e6, 1e7, 1e8, 1e9]
/** Requests in a simulation. */
const REQUESTS = 500_000

const count = (value: number) => Math.floor(value).toLocaleString('en-US')
const percent = (share: number) => `${Math.round(share * 100)} %`

export function reportCells(model: Model): void {
  say(
    '',
    '### What a day requires',
    '',
    `- Per mail: ${Object.entries(DAY_MIX)
      .map(([name, times]) => `${times} ${name}`)
      .join('; ')}; costs under light load`,
    `- Assumed: ${Object.entries(PLAN)
      .map(([name, value]) => `${name} ${Number(value.toPrecision(4)).toLocaleString('en-US')}`)
      .join(', ')}`,
  )
  publishTable(
    'limits',
    ['limit', 'assumed for one cluster', 'mails a day, costs under light load', 'under full load'],
    LIMITS.map((limit) => [
      ...[limit.name, limit.has],
      ...LOADS.map((load) => count(mostMails(model, [limit], load))),
    ]),
  )
  const most = mostMails(model)
  const plans = MAILS_PER_DAY.flatMap((mails) => {
    const cells = cellsFor(mails, most)
    // The day on which one cell is down.
    const cluster = clusterFor(model, mails / Math.max(1, cells - 1))
    return cluster ? [{ mails, cells, cluster }] : []
  })
  publishTable(
    'day',
    [
      ...['mails a day', 'cells', 'of each cell: mails/s at the peak', 'nodes'],
      'CPU of the nodes: all up / one down / after an hour without any',
      ...['PostgreSQL cores', 'Redis cores', 'statements/s', 'transactions/s', 'WAL MB/s'],
      ...['Mbit/s to each standby', 'stored GB', 'Redis commands/s'],
    ],
    plans.map(({ mails, cells, cluster }) => [
      ...[count(mails), count(cells), figure(cluster.mailsPerSecond), count(cluster.nodes)],
      [shareOfNodes(cluster), shareOfNodes(cluster, 1), shareAfterOutage(model, cluster)]
        .map(percent)
        .join(' / '),
      ...usedBy(cluster).map(figure),
    ]),
  )
  publishTable(
    'queues',
    ['mails a day', 'of a cell', 'mail p50 ms', 'p99', 'poll p50 ms', 'p99'],
    plans.flatMap(({ mails, cluster }) => [
      [count(mails), 'all nodes up', ...latenciesOf(model, cluster, 0)],
      [count(mails), 'one node down', ...latenciesOf(model, cluster, 1)],
    ]),
  )
}

function usedBy({ used, storedBytes }: Cluster): number[] {
  return [
    ...[used.postgresCpu, used.redisCpu, used.statements, used.transactions],
    ...[used.walBytes / 1e6, (used.walBytes * 8) / 1e6, storedBytes / 1e9, used.redisCommands],
  ]
}

/** At the peak, in ms. */
function latenciesOf(
  { costs, wake, idle }: Model,
  { mailsPerSecond, nodes }: Cluster,
  down: number,
): string[] {
  progress(`queues, ${figure(mailsPerSecond)} mails/s, ${down} nodes down`)
  const further = nodes - down - 1
  const demands = Object.entries(DAY_MIX).map(([name, times]) => {
    const cost = costs.light[name] ?? combine([])
    const all = combine([
      [cost, 1],
      [wake.light, cost.wakes * further],
    ])
    return { name, perSecond: mailsPerSecond * times, cost: all }
  })
  // A short piece of what runs anyway, ten times a second at each node.
  const pieces = { name: 'idle', perSecond: (nodes - down) * 10, cost: combine([[idle.node, 0.1]]) }
  const perSecond = [...demands, pieces].reduce((sum, demand) => sum + demand.perSecond, 0)
  const servers = { ...PLAN, nodes: nodes - down }
  const times = simulate([...demands, pieces], servers, REQUESTS / perSecond)
  return ['mail of 4 KB', 'poll, 304'].flatMap((name) => {
    const ms = (times.get(name) ?? []).map((seconds) => seconds * 1_000)
    return [figure(median(ms)), figure(percentile(ms, 0.99))]
  })
}
