import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { buildServer } from '../build/server.ts'
import { copyWithMutations } from '../test/support/mutation.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { startPostgres } from './contestants/postgres.ts'
import {
  type Contestant,
  type IntakeResult,
  mailsFor,
  measureIntake,
  sendMails,
  whileSending,
} from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  p50AndP99,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// Does intake notice metrics and series? Beside the build, a copy of it that neither counts nor records. Also, the time to read
// all metrics during intake, which a record takes apart from its commit.

// Four rounds do not divide a minute: over a run, the full minutes are spread over all.
const SECONDS = quick ? 1 : 3.1
const PAIRS = quick ? 6 : 54
const WARM_UP_MAILS = quick ? 500 : 20_000
const READS = quick ? 5 : 50
// Sooner, the service would make us wait.
const READ_GAP_MS = 300
// Small mail: the less else there is to do, the more counting matters.
const LOAD = { name: '1 KB', bytes: 1_024, reuse: true, senders: 20 }
const LEAST = 0.98
const MINUTE_MS = 60_000

const WITH = 'with'
const WITHOUT = 'without'

const COUNT_NOTHING = [
  { from: 'recorder.run(end.signal)', to: 'Promise.resolve()' },
  { from: 'counts.set(at, (counts.get(at) ?? 0) + by)', to: 'false' },
  { from: 'const startedAt = server.clock()', to: 'const startedAt = 0' },
  // The arguments are not evaluated.
  { from: 'commandSeconds.observe(', to: 'false && (' },
  { from: 'commitSeconds.observe(', to: 'false && (' },
]

interface Node extends Contestant {
  mayfly: Mayfly
}

/** `records`: how many full minutes were within the round. */
type Round = IntakeResult & { records: number }

async function main(): Promise<void> {
  await buildServer()
  reportHeader('Series', 'series')
  const postgres = await startPostgres()
  const folder = benchFolder()
  const roots = new Map([
    [WITH, copyWithMutations(folder.inside('with'))],
    [WITHOUT, copyWithMutations(folder.inside('without'), ...COUNT_NOTHING)],
  ])
  say(
    `- ${postgres.settings}`,
    `- ${PAIRS} pairs of rounds of about ${SECONDS} s, the order changing with each pair, after ${figure(WARM_UP_MAILS)} mails each; one SMTP thread; smtp-source on the same machine, 1 KB, reused connections, ${LOAD.senders} senders`,
    '- without: the same build, in which counters, histograms and the record of each minute are replaced by nothing',
    '- CPU: user and system seconds per 1,000 mails, of the service and of PostgreSQL',
    '- of without: median of the ratios of the pairs, with its 95 % confidence interval (by order statistics); of CPU, mails per CPU second',
  )
  const file = writeMail(join(folder.path, 'mail'), LOAD.bytes)

  const startNodes = async (store: string) => {
    const nodes: Node[] = []
    for (const [name, root] of roots) {
      const isPostgres = store === 'PostgreSQL'
      const env = isPostgres ? { MAYFLY_STORE: postgres.urlOf(await postgres.database()) } : {}
      const mayfly = await startMayfly(folder.inside(`${store} ${name}`), env, { root })
      const recipient = async () => (await mayfly.session()).email
      const storePid = isPostgres ? { storePid: postgres.pid } : {}
      nodes.push({ name, pid: mayfly.pid, ...storePid, port: mayfly.smtpPort, recipient, mayfly })
    }
    return nodes
  }

  for (const store of ['SQLite', 'PostgreSQL']) {
    progress(store)
    const nodes = await startNodes(store)
    reportStore(store, await measure(nodes, file))
    const counting = nodes.find(({ name }) => name === WITH)
    if (counting) await reportReads(counting.mayfly, file)
    for (const { mayfly } of nodes) await mayfly.stop()
  }
  await postgres.close()
}

async function measure(nodes: readonly Node[], file: string): Promise<Map<string, Round[]>> {
  const rates: number[] = []
  for (const { port, recipient } of nodes) {
    const warmUp = { ...LOAD, file, mails: WARM_UP_MAILS }
    rates.push(await sendMails({ ...warmUp, port, to: await recipient() }))
  }
  const mails = mailsFor(SECONDS, median(rates), LOAD.senders)
  return await alternate(
    nodes,
    PAIRS,
    async (node) => {
      const before = Date.now()
      const result = await measureIntake(node, { ...LOAD, file, mails })
      const records = Math.floor(Date.now() / MINUTE_MS) - Math.floor(before / MINUTE_MS)
      return { ...result, records }
    },
    false,
  )
}

function reportStore(store: string, results: Map<string, Round[]>): void {
  const roundsOf = (name: string) => results.get(name) ?? []
  const records = roundsOf(WITH).reduce((sum, round) => sum + round.records, 0)
  const cpuOf = (round: Round | undefined) =>
    (round?.cpuPerThousand ?? 0) + (round?.storeCpuPerThousand ?? 0)
  say('', `### ${store}`)
  reportTable(
    ['service', 'mails/s', 'CPU s per 1,000', 'records in its rounds'],
    [...results].map(([name, rounds]) => [
      name,
      spread(rounds.map(({ perSecond }) => perSecond)),
      spread(rounds.map(cpuOf)),
      name === WITH ? String(records) : '',
    ]),
  )
  const others = roundsOf(WITHOUT)
  reportShare(
    `${store}, rate`,
    roundsOf(WITH).map(({ perSecond }, at) => perSecond / (others[at]?.perSecond ?? 0)),
  )
  reportShare(
    `${store}, mails per CPU second`,
    roundsOf(WITH).map((round, at) => cpuOf(others[at]) / cpuOf(round)),
  )
}

/** Met if even the lower end of the interval is. */
function reportShare(what: string, ratios: readonly number[]): void {
  const [low, high] = medianInterval(ratios)
  const [value, ...ends] = [median(ratios), low, high].map((share) => share.toFixed(3))
  const result = `${what}: ${value} of without (95 %: ${ends.join(' to ')})`
  reportGoal(`${result}, lower end at least ${LEAST}`, low, low >= LEAST)
}

/** The 95 % confidence interval of the median of at least six values: how many are below it is binomial. */
function medianInterval(values: readonly number[]): [low: number, high: number] {
  const sorted = values.toSorted((one, next) => one - next)
  let [rank, tail, chance] = [0, 0, 0.5 ** sorted.length]
  while (tail + chance <= 0.025) {
    tail += chance
    rank += 1
    chance *= (sorted.length - rank + 1) / rank
  }
  return [sorted[rank - 1] ?? Number.NaN, sorted[sorted.length - rank] ?? Number.NaN]
}

async function reportReads(mayfly: Mayfly, file: string): Promise<void> {
  const { result } = await whileSending(mayfly, { ...LOAD, file }, async () => {
    const times: number[] = []
    for (let read = 0; read < READS; read += 1) {
      await pause(READ_GAP_MS)
      const started = performance.now()
      await (await fetch(`${mayfly.url}/metrics`)).text()
      times.push(performance.now() - started)
    }
    return times
  })
  const [p50 = '', p99 = ''] = p50AndP99(result)
  const share = figure((median(result) / MINUTE_MS) * 100)
  say(
    '',
    `\`/metrics\` during intake: p50 ${p50} ms, p99 ${p99} ms. Once a minute, that is ${share} % of the time of one thread.`,
  )
}

await main()
