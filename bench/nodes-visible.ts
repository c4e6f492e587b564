import { openRedis } from '../test/support/redis.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { startPostgres } from './contestants/postgres.ts'
import { benchFolder } from './tools/processes.ts'
import { alternate, progress, reportMachine, reportTable, say } from './tools/report.ts'
import { measureVisibility, p50AndP99, type VisibilityTimes } from './tools/visibility.ts'

// How long from the 250 that one node gives until a reader who waits at another has the mail?

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 5
const TURNS = quick ? 20 : 150
const TURNS_WITHOUT = quick ? 5 : 40
const LOOK_MS = 1_000

async function main(): Promise<void> {
  say('## From the 250 of one node to who waits at another (bench/nodes-visible.ts)', '')
  reportMachine()
  const folder = benchFolder()
  const postgres = await startPostgres()
  const redis = await openRedis()
  say(
    `- ${postgres.settings}; ${await versionOf(redis)} on the same machine`,
    `- Settings: ${ROUNDS} rounds of ${TURNS} mails of 4 KB one after the other, alternating, each with a check-mail that waits for it; two nodes and the client on the same machine, nothing else to do`,
    `- Redis stopped: ${TURNS_WITHOUT} mails, each sent at a random moment of the second after which a reader looks by himself.`,
    '- A reader may have the mail before the sender has his 250: both are told after the same commit.',
  )
  const env = {
    MAYFLY_STORE: postgres.urlOf(await postgres.database()),
    MAYFLY_REDIS: redis.url,
  }
  const [near, far] = [
    await startMayfly(folder.inside('near'), env),
    await startMayfly(folder.inside('far'), env),
  ]
  const ways = [
    { name: 'the same node', sender: near },
    { name: 'another node', sender: far },
  ]
  const bound = { reader: near, mostSeconds: 60 }
  const results = await alternate(ways, ROUNDS, ({ sender }) =>
    measureVisibility({ ...bound, sender, turns: TURNS }),
  )
  progress('Redis stopped')
  await redis.stop()
  const restMs = () => 10 + Math.random() * LOOK_MS
  const turns = TURNS_WITHOUT
  results.set('another node, Redis stopped', [
    await measureVisibility({ ...bound, sender: far, turns, restMs }),
  ])
  reportTable(
    ['reader waits at', 'mails', '250 to reader p50 ms', 'p99', 'last byte to 250 p50 ms', 'p99'],
    [...results].map(([name, list]) => [name, ...cells(list)]),
  )
  await near.stop()
  await far.stop()
  await redis.close()
  await postgres.close()
}

function cells(list: readonly VisibilityTimes[]): string[] {
  const after = list.flatMap((times) => times.after)
  return [
    String(after.length),
    ...p50AndP99(after),
    ...p50AndP99(list.flatMap(({ answered }) => answered)),
  ]
}

async function versionOf(redis: Awaited<ReturnType<typeof openRedis>>): Promise<string> {
  const said = String(await redis.run('INFO', 'server'))
  return `Redis ${/redis_version:(\S+)/.exec(said)?.[1] ?? 'of an unknown version'}`
}

await main()
