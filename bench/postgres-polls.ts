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
  pollsInTurn,
  REQUEST_COLUMNS,
  requestCells,
  uncachedPolls,
} from './tools/http-load.ts'
import { benchFolder } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  progress,
  reportGoal,
  reportMachine,
  reportTable,
  say,
} from './tools/report.ts'

// What does a poll cost on PostgreSQL, where the server is asked for each session's row: beside SQLite, where what is
// unchanged is answered from memory, and with a hundred times the mail.

type Node = Mayfly & { name: string; storePid?: number; cases: PollCase[] }

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 5
const SECONDS = 1
const CONNECTIONS = 32
const FEW = quick ? 1_000 : 10_000
const MANY = quick ? 20_000 : 1_000_000

async function main(): Promise<void> {
  say('## Polls on PostgreSQL beside SQLite (bench/postgres-polls.ts)', '')
  reportMachine()
  const folder = benchFolder()
  const postgres = await startPostgres()
  say(
    `- ${postgres.settings}`,
    `- Settings: ${ROUNDS} rounds of ${SECONDS} s, alternating; wrk on the same machine, one thread, ${CONNECTIONS} kept connections; one HTTP thread`,
    '- listed elsewhere: by another node, or at another length; this node has not made that list yet.',
    '- CPU: user and system seconds for 1,000 requests, of the whole node and of all processes of PostgreSQL.',
  )
  const filled = folder.inside('sqlite')
  const { sessions } = fill(filled, FEW)
  const nodes = [
    await ready(`SQLite, ${stored(FEW)}`, await startMayfly(filled), sessions),
    ...(await Promise.all([FEW, MANY].map(onPostgres))),
  ]
  await compare(nodes)
  for (const node of nodes) await node.stop()
  await postgres.close()

  async function onPostgres(messages: number): Promise<Node> {
    progress(`filling a database with ${figure(messages)} messages`)
    const now = new Date()
    const expiresAt = new Date(now.getTime() + 30 * DAY_MS)
    const made = await fillPostgres(postgres, { messages, now, expiresAt })
    const env = { MAYFLY_STORE: postgres.urlOf(made.database) }
    const node = await startMayfly(folder.inside(made.database), env)
    const name = `PostgreSQL, ${stored(messages)}`
    return { ...(await ready(name, node, made.sessions)), storePid: postgres.pid }
  }

  async function ready(name: string, node: Mayfly, boxes: number): Promise<Node> {
    const path = `/api/check-mail?token=${tokenOf(1)}`
    const cases = [
      ...(await cachedPolls(node)),
      {
        name: 'unchanged (304), listed elsewhere',
        path,
        headers: await ifNoneMatch(node, `${path}&limit=101`),
      },
      pollsInTurn(boxes, join(folder.path, `boxes of ${name}`)),
      uncachedPolls(boxes, join(folder.path, `lists of ${name}`)),
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
  if (!sqlite || !few || !many) throw new Error('three stores were filled')
  for (const [index, { name }] of (nodes[0]?.cases ?? []).entries()) {
    progress(name)
    const results = await alternate(nodes, ROUNDS, (node) => {
      const one = node.cases[index]
      if (!one) throw new Error('every store has the same cases')
      return measureRequests(node, { ...one, seconds: SECONDS, connections: CONNECTIONS })
    })
    const rateOf = (store: string) => medianRate(results.get(store))
    ratios.push([name, rateOf(many) / rateOf(few)])
    for (const [store, list] of results) {
      const ratio = figure(rateOf(store) / rateOf(sqlite))
      const behind = median(list.map(({ storeCpuPerThousand }) => storeCpuPerThousand))
      rows.push([name, store, ...requestCells(list), store === sqlite ? '' : figure(behind), ratio])
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
