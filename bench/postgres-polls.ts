import { join } from 'node:path'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { startPostgres } from './contestants/postgres.ts'
import { DAY_MS, fill, fillPostgres, tokenOf } from './tools/fill.ts'
import {
  cachedPolls,
  ifNoneMatch,
  measureRequests,
  medianRate,
  type PollCase,
  REQUEST_COLUMNS,
  requestCells,
  roundRobinPolls,
  uncachedPolls,
} from './tools/http-load.ts'
import { quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
} from './tools/report.ts'

// Cost of a poll on PostgreSQL, where each poll reads the session row, compared with SQLite, where unchanged lists come from
// memory, and with a hundred times as much stored mail.

type Node = Mayfly & { name: string; storePid?: number; cases: PollCase[] }

const ROUNDS = quick ? 2 : 5
const SECONDS = 1
const CONNECTIONS = 32
const FEW = quick ? 1_000 : 10_000
const MANY = quick ? 20_000 : 1_000_000

async function main(): Promise<void> {
  reportHeader('Polling: PostgreSQL and SQLite', 'postgres-polls')
  const folder = benchFolder()
  const postgres = await startPostgres()
  say(
    `- ${postgres.settings}`,
    `- Settings: ${ROUNDS} rounds of ${SECONDS} s, alternating; wrk on the same machine, one thread, ${CONNECTIONS} keep-alive connections; one HTTP thread`,
    '- not cached on this node: the ETag comes from another node or another `limit`; this node has not built that list yet.',
    '- CPU: user and system seconds per 1,000 requests, of the whole node and of all PostgreSQL processes.',
  )
  const sqliteFolder = folder.inside('sqlite')
  const { sessions } = fill(sqliteFolder, FEW)
  const nodes = [
    await withCases(`SQLite, ${stored(FEW)}`, await startMayfly(sqliteFolder), sessions),
    ...(await Promise.all([FEW, MANY].map(onPostgres))),
  ]
  await compare(nodes)
  for (const node of nodes) await node.stop()
  await postgres.close()

  async function onPostgres(messages: number): Promise<Node> {
    progress(`filling a database with ${figure(messages)} messages`)
    const receivedAt = new Date()
    const expiresAt = new Date(receivedAt.getTime() + 30 * DAY_MS)
    const filled = await fillPostgres(postgres, { messages, receivedAt, expiresAt })
    const env = { MAYFLY_STORE: postgres.urlOf(filled.database) }
    const node = await startMayfly(folder.inside(filled.database), env)
    const name = `PostgreSQL, ${stored(messages)}`
    return { ...(await withCases(name, node, filled.sessions)), storePid: postgres.pid }
  }

  async function withCases(name: string, node: Mayfly, sessionCount: number): Promise<Node> {
    const path = `/api/check-mail?token=${tokenOf(1)}`
    const cases = [
      ...(await cachedPolls(node)),
      {
        name: 'unchanged (304), not cached on this node',
        path,
        headers: await ifNoneMatch(node, `${path}&limit=101`),
      },
      roundRobinPolls(sessionCount, join(folder.path, `mailboxes of ${name}`)),
      uncachedPolls(sessionCount, join(folder.path, `lists of ${name}`)),
    ]
    return { ...node, name, cases }
  }
}

function stored(messages: number): string {
  return `${messages.toLocaleString('en-US')} stored`
}

async function compare(nodes: readonly Node[]): Promise<void> {
  const rows: string[][] = []
  const ratios: [string, number][] = []
  const [sqlite, few, many] = nodes.map(({ name }) => name)
  if (!sqlite || !few || !many) throw new Error('unreachable: three stores')
  for (const [index, { name }] of (nodes[0]?.cases ?? []).entries()) {
    progress(name)
    const results = await alternate(nodes, ROUNDS, (node) => {
      const one = node.cases[index]
      if (!one) throw new Error('unreachable: the stores have the same cases')
      return measureRequests(node, { ...one, seconds: SECONDS, connections: CONNECTIONS })
    })
    const rateOf = (store: string) => medianRate(results.get(store))
    ratios.push([name, rateOf(many) / rateOf(few)])
    for (const [store, list] of results) {
      const ratio = figure(rateOf(store) / rateOf(sqlite))
      const storeCpu = median(list.map(({ storeCpuPerThousand }) => storeCpuPerThousand))
      rows.push([
        name,
        store,
        ...requestCells(list),
        store === sqlite ? '' : figure(storeCpu),
        ratio,
      ])
    }
  }
  reportTable(
    ['case', 'store', ...REQUEST_COLUMNS, 'PostgreSQL CPU s per 1,000', 'of SQLite'],
    rows,
  )
  for (const [name, ratio] of ratios) {
    reportGoal(`${name}: ${many} within 15 % of ${few}`, ratio, ratio >= 0.85)
  }
}

await main()
