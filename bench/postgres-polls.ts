import { join } from 'node:path'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { startPostgres } from './contestants/postgres.ts'
import { fill, tokenOf } from './tools/fill.ts'
import { DAY_MS, fillPostgres } from './tools/fill-postgres.ts'
import { COLUMNS, cells, measure, rate } from './tools/loads.ts'
import { answeredFromMemory, type Case, fromStore, ifChanged, inTurn } from './tools/polls.ts'
import { describeMachine, goal, note, say, table } from './tools/report.ts'
import { alternate } from './tools/rounds.ts'
import { benchFolder } from './tools/scratch.ts'
import { figure, median } from './tools/stats.ts'

// What does a poll cost on PostgreSQL, where the server is asked for each session's row: beside SQLite, where what is
// unchanged is answered from memory, and with a hundred times the mail.

type Node = Mayfly & { name: string; storePid?: number; cases: Case[] }

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 5
const SECONDS = 1
const CONNECTIONS = 32
const FEW = quick ? 1_000 : 10_000
const MANY = quick ? 20_000 : 1_000_000

async function main(): Promise<void> {
  say('## Polls on PostgreSQL beside SQLite (bench/postgres-polls.ts)', '')
  describeMachine()
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
    note(`filling a database with ${figure(messages)} messages`)
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
      ...(await answeredFromMemory(node)),
      {
        name: 'unchanged (304), listed elsewhere',
        path,
        headers: await ifChanged(node, `${path}&limit=101`),
      },
      inTurn(boxes, join(folder.path, `boxes of ${name}`)),
      fromStore(boxes, join(folder.path, `lists of ${name}`)),
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
    note(name)
    const results = await alternate(nodes, ROUNDS, (node) => {
      const one = node.cases[index]
      if (!one) throw new Error('every store has the same cases')
      return measure(node, { ...one, seconds: SECONDS, connections: CONNECTIONS })
    })
    const rateOf = (store: string) => rate(results.get(store))
    ratios.push([name, rateOf(many) / rateOf(few)])
    for (const [store, list] of results) {
      const ratio = figure(rateOf(store) / rateOf(sqlite))
      const behind = median(list.map(({ storeCpuPerThousand }) => storeCpuPerThousand))
      rows.push([name, store, ...cells(list), store === sqlite ? '' : figure(behind), ratio])
    }
  }
  table(['case', 'store', ...COLUMNS, 'PostgreSQL CPU s per 1,000', 'of SQLite'], rows)
  for (const [name, ratio] of ratios) {
    goal(`${name}: ${many} within 15 % of ${few}`, ratio, ratio >= 0.85)
  }
}

await main()
