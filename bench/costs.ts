import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { openRedis } from '../test/kit/redis/redis.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { LARGE, startPostgres } from './contestants/postgres.ts'
import {
  type Cost,
  type Costs,
  combine,
  costOf,
  FULL,
  type Mix,
  PEAK,
  RESOURCES,
  requirementsOf,
} from './tools/capacity.ts'
import { checkModel, FULL_MIX, reportChecks } from './tools/full-load.ts'
import { issueKey, UNLIMITED, unlimitedPlan } from './tools/keys.ts'
import { costPer, type Metered } from './tools/meter.ts'
import { inTurns, type Operations, openOperations } from './tools/operations.ts'
import { options, quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import { TRUST_LOOPBACK } from './tools/proxied-client.ts'
import { figure, progress, reportHeader, reportTable, say } from './tools/report.ts'

// What each operation costs the node, PostgreSQL and Redis; whether these costs predict 1, 2 and 3 nodes at full load; and what
// many mails a day need. `--json FILE` also writes the figures there.

const COUNT = quick ? 40 : 4_000
const IDLE_SECONDS = quick ? 2 : 60
const CONCURRENCY = 20
const MAILBOXES = quick ? 50 : 1_000
const STREAMS = quick ? 20 : 1_000
const KEYS = 2
const NODES = 3

/** What comes with one mail, for the needs of a day: 10 polls, and a stream that is open for a minute. */
const DAY_MIX: Mix = {
  'mail of 4 KB': 0.9,
  'mail of 50 KB': 0.1,
  'TLS of a mail': 0.9,
  'poll, 304': 8,
  'poll, list': 1.5,
  'first list of a mail': 0.5,
  'event of a stream': 0.3,
  'minute of a stream': 1,
  'wait that is answered': 0.1,
  'webhook delivery': 0.1,
  session: 0.3,
  '/emails request': 0.2,
}
const MAILS_PER_DAY = [1e6, 1e7, 1e8, 1e9]

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
  const addNode = async () => {
    nodes.push(await startMayfly(folder.inside(`node${nodes.length}`), env))
  }
  await addNode()
  say(
    `- ${postgres.settings}, without TLS; Redis on the same machine`,
    `- Settings: ${COUNT.toLocaleString('en-US')} operations each, ${CONCURRENCY} at a time; a connection per mail, kept connections for requests; one SMTP and one HTTP thread per node; rate limits on, each client with its own address; idle use is subtracted`,
    '- Events, waits, first lists, webhooks and TLS: what a mail with it costs more than a mail of 4 KB without. All but TLS include parsing the mail.',
  )
  const keyEnv = { ...plan, ...store, MAYFLY_DATA: folder.inside('cli') }
  const keys = Array.from({ length: KEYS }, () => issueKey(UNLIMITED, keyEnv))
  const operations = await openOperations({ nodes, keys, mailboxes: MAILBOXES, streams: STREAMS })
  const metered: Metered = { nodes, postgres, database, address, redis }

  const { idle, costs } = await measureCosts(metered, operations)
  reportCosts(costs)
  const checks = []
  for (let count = 1; count <= NODES; count += 1) {
    if (count > nodes.length) await addNode()
    checks.push(await checkModel(metered, operations, { costs, idle }))
  }
  reportChecks(checks)
  reportRequirements(costs)
  if (options.json) {
    const figures = { idle, costs, fullMix: FULL_MIX, dayMix: DAY_MIX, checks }
    writeFileSync(options.json, `${JSON.stringify(figures, undefined, 2)}\n`)
  }
  operations.close()
  for (const node of nodes) await node.stop()
  await redis.close()
  await postgres.close()
}

async function measureCosts(metered: Metered, { run, watch }: Operations) {
  progress('idle')
  const waiting = async () => {
    const start = performance.now()
    await pause(IDLE_SECONDS * 1_000)
    return (performance.now() - start) / 1_000
  }
  // What the preparations have left: idle collections, and what PostgreSQL would vacuum meanwhile.
  await metered.postgres.run('vacuum (analyze)', metered.database)
  await waiting()
  const withoutStreams = await costPer(metered, waiting)
  const streams = await watch()
  const idle = await costPer(metered, waiting)
  const costs: Costs = {}
  for (const [name, operation] of Object.entries(run)) {
    progress(name)
    await inTurns(COUNT / 4, CONCURRENCY, operation)
    let seconds = 0
    const cost = await costPer(metered, async () => {
      const start = performance.now()
      await inTurns(COUNT, CONCURRENCY, operation)
      seconds = (performance.now() - start) / 1_000
      return COUNT
    })
    costs[name] = combine([
      [cost, 1],
      [idle, -seconds / COUNT],
    ])
  }
  const above = (name: keyof Operations['run']) =>
    combine([
      [costOf({ [name]: 1 }, costs), 1],
      [costOf({ 'mail of 4 KB': 1 }, costs), -1],
    ])
  const derived = {
    'TLS of a mail': above('mail of 4 KB, STARTTLS'),
    'event of a stream': above('mail to a stream'),
    'wait that is answered': above('mail to a wait'),
    'first list of a mail': above('mail and its first list'),
    'webhook delivery': above('mail to a webhook'),
    'minute of a stream': combine([
      [idle, 60 / streams],
      [withoutStreams, -60 / streams],
    ]),
  }
  return { idle, costs: { ...costs, ...derived } }
}

const US = 1e6
const KB = 1 / 1_024

function reportCosts(costs: Costs): void {
  reportTable(
    [
      'operation',
      ...['node CPU µs', 'PostgreSQL', 'Redis', 'load generator'],
      ...['statements', 'WAL KB', 'disk KB', 'stored KB', 'KB to and from PostgreSQL'],
      ...['Redis commands', 'KB to and from Redis'],
    ],
    Object.entries(costs).map(([name, cost]) => [
      name,
      ...RESOURCES.map((resource) => figure(cost[resource] * unitOf(resource))),
    ]),
  )
}

function unitOf(resource: keyof Cost): number {
  if (resource.endsWith('Cpu')) return US
  return resource.endsWith('Bytes') ? KB : 1
}

function reportRequirements(costs: Costs): void {
  const perMail = costOf(DAY_MIX, costs)
  say(
    '',
    '### What a day requires',
    '',
    `- Per mail: ${Object.entries(DAY_MIX)
      .map(([name, count]) => `${count} ${name}`)
      .join('; ')}`,
    `- The peak is ${PEAK} times the average, and cores are at most ${FULL * 100} % full.`,
  )
  reportTable(
    [
      'mails a day',
      ...['mails/s at the peak', 'node cores', 'PostgreSQL cores', 'Redis cores', 'stored GB'],
      ...['WAL MB/s', 'disk MB/s', 'network Mbit/s', 'statements/s', 'Redis commands/s'],
    ],
    MAILS_PER_DAY.map((mails) => {
      const required = requirementsOf(mails, perMail)
      return [
        mails.toLocaleString('en-US'),
        ...[
          required.mailsPerSecond,
          required.nodeCores,
          required.postgresCores,
          required.redisCores,
        ],
        required.storedBytes / 1e9,
        required.walBytesPerSecond / 1e6,
        required.diskBytesPerSecond / 1e6,
        (required.netBytesPerSecond * 8) / 1e6,
        required.statementsPerSecond,
        required.redisCommandsPerSecond,
      ].map((cell) => (typeof cell === 'string' ? cell : figure(cell)))
    }),
  )
}

await main()
