import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from 'redis'
import { openRedis } from '../test/kit/redis/redis.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { LARGE, startPostgres } from './contestants/postgres.ts'
import {
  type Cost,
  type Costs,
  combine,
  costOf,
  idleOf,
  LOADS,
  type Load,
  type Model,
  medianModel,
} from './tools/capacity.ts'
import { reportCells } from './tools/cells-report.ts'
import { issueKey, UNLIMITED, unlimitedPlan } from './tools/keys.ts'
import { costPer, type Metered } from './tools/meter.ts'
import { CONCURRENCY, compare, measureMix, reportChecks } from './tools/model-checks.ts'
import { type Operations, openOperations, repeatFor } from './tools/operations.ts'
import { options, quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import { TRUST_LOOPBACK } from './tools/proxied-client.ts'
import { figure, progress, publishTable, reportHeader, say } from './tools/report.ts'

// What each operation costs the node, PostgreSQL and Redis; whether these costs predict 1, 2 and 3 nodes; and what many mails a
// day need. Each round measures all of it, so that a machine whose speed changes changes both sides. `--json FILE` also writes
// the figures there.

const ROUNDS = quick ? 1 : 5
const SECONDS = quick ? 0.3 : 2.5
const IDLE_SECONDS = quick ? 1 : 10
const SETTLE_SECONDS = quick ? 0.5 : 4
const MAILBOXES = quick ? 50 : 1_000
const STREAMS = quick ? 20 : 500
const KEYS = 2
const NODES = 3

async function main(): Promise<void> {
  reportHeader('Costs of an operation', 'costs')
  const folder = benchFolder()
  const address = `127.${[0, 0].map(() => 1 + Math.floor(Math.random() * 250)).join('.')}.1`
  const postgres = await startPostgres([
    ...LARGE,
    `listen_addresses=${address}`,
    'shared_preload_libraries=pg_stat_statements',
    'checkpoint_timeout=1h',
  ])
  await postgres.run('create extension pg_stat_statements')
  const [database, redis] = [await postgres.database(), await openRedis()]
  const plan = unlimitedPlan(folder.path)
  const store = {
    MAYFLY_STORE: `postgres://mayfly@${address}/${database}`,
    MAYFLY_REDIS: redis.url,
  }
  const env = {
    ...TRUST_LOOPBACK,
    ...plan,
    ...store,
    MAYFLY_RATE_LIMITS: 'on',
    MAYFLY_WEBHOOK_ALLOW: '127.0.0.1',
    MAYFLY_POOL_BYTES: '100GB',
  }
  const nodes: Mayfly[] = []
  const setNodes = async (count: number) => {
    while (nodes.length > count) await nodes.pop()?.stop()
    while (nodes.length < count)
      nodes.push(await startMayfly(folder.inside(`node${nodes.length}`), env))
  }
  await setNodes(1)
  say(
    `- ${postgres.settings}, without TLS; Redis on the same machine`,
    `- Settings: medians of ${ROUNDS} rounds, each of which measures all costs and then the mix with 1 to ${NODES} nodes; ${SECONDS} s per operation, one at a time (light) and ${CONCURRENCY} at a time (full); a connection per mail, kept connections for requests; one SMTP and one HTTP thread per node; rate limits on, each client with its own address; ${STREAMS} open streams; idle use is subtracted`,
    '- Events, waits, first lists, webhooks and TLS: what a mail with it costs more than a mail of 4 KB without. All but TLS include parsing the mail.',
    '- Bytes stored by one at a time are not measured but taken from many at a time, because files grow by several pages at once.',
  )
  const keyEnv = { ...plan, ...store, MAYFLY_DATA: folder.inside('cli') }
  const keys = Array.from({ length: KEYS }, () => issueKey(UNLIMITED, keyEnv))
  const operations = await openOperations({ nodes, keys, mailboxes: MAILBOXES, streams: STREAMS })
  const metered: Metered = { nodes, postgres, database, address, redis }

  const rounds: Awaited<ReturnType<typeof measureRound>>[] = []
  for (let round = 1; round <= ROUNDS; round += 1) {
    progress(`round ${round} of ${ROUNDS}`)
    rounds.push(await measureRound({ metered, operations, setNodes }))
  }
  const model = medianModel(rounds.map((round) => round.model))
  const checks = Array.from({ length: NODES }, (_, at) => {
    const mixes = rounds.map(({ mixes }) => mixes[at]).filter((mix) => mix !== undefined)
    return compare(model, { nodes: at + 1, streams: STREAMS, rounds: mixes })
  }).flat()
  reportCosts(model)
  reportChecks(checks)
  reportCells(model)
  if (options.json)
    writeFileSync(options.json, `${JSON.stringify({ model, checks, rounds }, undefined, 2)}\n`)
  operations.close()
  await setNodes(0)
  await redis.close()
  await postgres.close()
}

interface RoundDeps {
  metered: Metered
  operations: Operations
  setNodes(count: number): Promise<void>
}

async function measureRound({ metered, operations, setNodes }: RoundDeps) {
  const idle = async () => {
    await pause(SETTLE_SECONDS * 1_000)
    return await costPer(metered, () => elapsed(() => pause(IDLE_SECONDS * 1_000)))
  }
  await metered.postgres.run('vacuum (analyze)', metered.database)
  const ofOne = await idle()
  await operations.watch()
  const watched = await idle()
  const measured = await measureOperations('light', { metered, operations, idle: watched })
  const full = await measureOperations('full', { metered, operations, idle: watched })
  const light = storedAsIn(full, measured)
  const wakesOfOne = await measureWakes(metered)
  const mixes = [await measureMix(metered, operations)]
  while (mixes.length < NODES) {
    operations.unwatch()
    await setNodes(mixes.length + 1)
    await operations.watch()
    mixes.push(await measureMix(metered, operations))
  }
  const wakesOfAll = await measureWakes(metered)
  operations.unwatch()
  const ofAll = await idle()
  await setNodes(1)

  const further = (all: Cost, one: Cost) =>
    combine([
      [all, 1 / (NODES - 1)],
      [one, -1 / (NODES - 1)],
    ])
  const node = further(ofAll, ofOne)
  const model: Model = {
    costs: { light: withDerived(light), full: withDerived(full) },
    wake: {
      light: further(wakesOfAll.light, wakesOfOne.light),
      full: further(wakesOfAll.full, wakesOfOne.full),
    },
    idle: {
      cluster: difference(ofOne, node),
      node,
      stream: combine([[difference(watched, ofOne), 1 / STREAMS]]),
    },
  }
  // Three seconds of a stream are an operation of a mix.
  for (const load of LOADS) model.costs[load]['stream, 3 s'] = combine([[model.idle.stream, 3]])
  return { model, mixes }
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1_000
}

const difference = (one: Cost, other: Cost) =>
  combine([
    [one, 1],
    [other, -1],
  ])

async function measureOperations(
  load: Load,
  { metered, operations, idle }: Pick<RoundDeps, 'metered' | 'operations'> & { idle: Cost },
): Promise<Costs> {
  const concurrency = load === 'light' ? 1 : CONCURRENCY
  const costs: Costs = {}
  for (const name of operations.names) {
    progress(`  ${name}, ${load}`)
    const repeat = (seconds: number) =>
      repeatFor(seconds, concurrency, () => operations.perform(name))
    await repeat(SECONDS / 5)
    let perOperation = 0
    const cost = await costPer(metered, async () => {
      let count = 0
      const seconds = await elapsed(async () => {
        count = await repeat(SECONDS)
      })
      perOperation = seconds / count
      return count
    })
    costs[name] = combine([
      [cost, 1],
      [idle, -perOperation],
    ])
  }
  return costs
}

/** What an operation stores shows only with many of them: files grow by several pages at a time. */
function storedAsIn(full: Costs, light: Costs): Costs {
  return Object.fromEntries(
    Object.entries(light).map(([name, cost]) => {
      const storedBytes = full[name]?.storedBytes ?? cost.storedBytes
      return [name, { ...cost, storedBytes }]
    }),
  )
}

function withDerived(costs: Costs): Costs {
  const above = (name: string) => costOf({ [name]: 1, 'mail of 4 KB': -1 }, costs)
  return {
    ...costs,
    'TLS of a mail': above('mail of 4 KB, STARTTLS'),
    'event of a stream': above('mail to a stream'),
    'wait that is answered': above('mail to a wait'),
    'first list of a mail': above('mail and its first list'),
    'webhook delivery': above('mail to a webhook'),
    // Measured by another program, see docs/scaling.md.
    'expiry of a mail': { ...combine([]), postgresCpu: 35e-6, walBytes: 512 },
  }
}

/** What a wake costs that comes from elsewhere and is for nobody. */
async function measureWakes(metered: Metered): Promise<Record<Load, Cost>> {
  const client = await createClient({ url: metered.redis.url }).connect()
  const measure = async (concurrency: number) => {
    const wake = () => client.publish('mayfly:wakes', 'bench 1')
    return await costPer(metered, () =>
      repeatFor(SECONDS, concurrency, async () => {
        await wake()
      }),
    )
  }
  const wakes = { light: await measure(1), full: await measure(CONCURRENCY) }
  client.destroy()
  return wakes
}

const US = 1e6
const KB = 1 / 1_024
const COLUMNS: readonly [name: string, resource: keyof Cost, factor: number][] = [
  ['node CPU µs', 'nodeCpu', US],
  ['PostgreSQL CPU µs', 'postgresCpu', US],
  ['Redis CPU µs', 'redisCpu', US],
  ['statements', 'statements', 1],
  ['transactions', 'transactions', 1],
  ['WAL KB', 'walBytes', KB],
  ['stored KB', 'storedBytes', KB],
  ['KB to and from PostgreSQL', 'postgresNetBytes', KB],
  ['Redis commands', 'redisCommands', 1],
  ['KB to and from Redis', 'redisNetBytes', KB],
  ['wakes', 'wakes', 1],
]

function reportCosts(model: Model): void {
  const row = (name: string, costs: readonly Cost[]) => [
    name,
    ...COLUMNS.map(([, resource, factor]) =>
      costs.map((cost) => figure(cost[resource] * factor)).join(' / '),
    ),
  ]
  const { costs, wake } = model
  publishTable(
    'operations',
    ['operation: light / full', ...COLUMNS.map(([name]) => name)],
    [
      ...Object.keys(costs.light).map((name) =>
        name === 'stream, 3 s'
          ? row(name, [costs.light[name] as Cost])
          : row(
              name,
              LOADS.map((load) => costs[load][name] as Cost),
            ),
      ),
      row(
        'wake, at each further node',
        LOADS.map((load) => wake[load]),
      ),
      row('idle for 1 s: cluster with one node', [idleOf(model, { nodes: 1, streams: 0 })]),
      row('idle for 1 s: each further node', [model.idle.node]),
    ],
  )
}

await main()
