import { openRedis } from '../test/support/redis.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { startPostgres } from './contestants/postgres.ts'
import { quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import { alternate, p50AndP99, progress, reportHeader, reportTable, say } from './tools/report.ts'
import { measureVisibility, type VisibilityTimes } from './tools/visibility.ts'

// Latency from the 250 of one node until a client waiting on another has the mail.

const ROUNDS = quick ? 2 : 5
const MAILS = quick ? 20 : 150
const MAILS_WITHOUT_REDIS = quick ? 5 : 40
const POLL_MS = 1_000

async function main(): Promise<void> {
  reportHeader('Latency from one node to a client waiting on another', 'nodes-visible')
  const folder = benchFolder()
  const postgres = await startPostgres()
  const redis = await openRedis()
  say(
    `- ${postgres.settings}; ${await redisVersion(redis)} on the same machine`,
    `- Settings: ${ROUNDS} rounds of ${MAILS} sequential mails of 4 KB, alternating, each awaited by a long-polling check-mail; two otherwise idle nodes and the client on the same machine`,
    `- Redis stopped: ${MAILS_WITHOUT_REDIS} mails, each sent at a random point of the one-second polling interval.`,
    '- A client may get the mail before the sender gets its 250, because both are notified after the same commit.',
  )
  const env = {
    MAYFLY_STORE: postgres.urlOf(await postgres.database()),
    MAYFLY_REDIS: redis.url,
  }
  const [near, far] = [
    await startMayfly(folder.inside('near'), env),
    await startMayfly(folder.inside('far'), env),
  ]
  const senders = [
    { name: 'the same node', sender: near },
    { name: 'another node', sender: far },
  ]
  const options = { client: near, maxSeconds: 60 }
  const results = await alternate(senders, ROUNDS, ({ sender }) =>
    measureVisibility({ ...options, sender, mails: MAILS }),
  )
  progress('Redis stopped')
  await redis.stop()
  const delayMs = () => 10 + Math.random() * POLL_MS
  const mails = MAILS_WITHOUT_REDIS
  results.set('another node, Redis stopped', [
    await measureVisibility({ ...options, sender: far, mails, delayMs }),
  ])
  reportTable(
    ['client waits on', 'mails', '250 to client p50 ms', 'p99', 'end of DATA to 250 p50 ms', 'p99'],
    [...results].map(([name, list]) => [name, ...cells(list)]),
  )
  await near.stop()
  await far.stop()
  await redis.close()
  await postgres.close()
}

function cells(list: readonly VisibilityTimes[]): string[] {
  const after250 = list.flatMap((times) => times.after250)
  return [
    String(after250.length),
    ...p50AndP99(after250),
    ...p50AndP99(list.flatMap(({ accepted }) => accepted)),
  ]
}

async function redisVersion(redis: Awaited<ReturnType<typeof openRedis>>): Promise<string> {
  const info = String(await redis.run('INFO', 'server'))
  return `Redis ${/redis_version:(\S+)/.exec(info)?.[1] ?? '(unknown version)'}`
}

await main()
