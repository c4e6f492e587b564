import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { startMayfly } from './contestants/mayfly.ts'
import { startPostgres } from './contestants/postgres.ts'
import {
  type Contestant,
  type IntakeResult,
  intakeCases,
  medianOf,
  runCase,
  sendMails,
} from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { against, quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import {
  figure,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// Intake rate of one node on PostgreSQL and on SQLite, and the CPU time it costs. `--against FOLDER` also measures another
// checkout on PostgreSQL.

const ROUNDS = quick ? 2 : 5
const SECONDS = quick ? 0.5 : 0.8
const WARM_UP_MAILS = quick ? 200 : 6_000
const LEAST_SHARE = 0.75
// One, and as many as by default.
const THREADS = [1, Math.min(availableParallelism(), 3)]
const SQLITE = 'SQLite'
const POSTGRES = 'PostgreSQL'
const AGAINST = 'PostgreSQL, against'

async function main(): Promise<void> {
  reportHeader('Intake: PostgreSQL and SQLite', 'postgres-intake', against)
  const postgres = await startPostgres()
  say(
    `- ${postgres.settings}`,
    `- Settings: ${ROUNDS} rounds of about ${SECONDS} s per store, alternating; after ${WARM_UP_MAILS.toLocaleString('en-US')} mails each; one node, smtp-source on the same machine, one recipient`,
    '- CPU: user and system seconds per 1,000 mails, of the whole node and of all PostgreSQL processes.',
    '- Of SQLite: mails per CPU second of the node.',
  )
  for (const threads of THREADS) await compare(postgres, threads)
  await postgres.close()
}

async function compare(
  postgres: Awaited<ReturnType<typeof startPostgres>>,
  threads: number,
): Promise<void> {
  say('', `### SMTP threads: ${threads}`)
  const folder = benchFolder()
  const start = async (name: string, root?: string) => {
    const store = name === SQLITE ? {} : { MAYFLY_STORE: postgres.urlOf(await postgres.database()) }
    const env = { MAYFLY_SMTP_THREADS: String(threads), ...store }
    const inside = folder.inside(`${name} ${threads}`)
    const node = await startMayfly(inside, env, root === undefined ? {} : { root })
    return { name, ...(name === SQLITE ? {} : { storePid: postgres.pid }), ...node }
  }
  const nodes = [
    await start(SQLITE),
    await start(POSTGRES),
    ...(against ? [await start(AGAINST, against)] : []),
  ]
  const contestants = nodes.map(
    (node): Contestant => ({
      ...node,
      port: node.smtpPort,
      recipient: async () => (await node.session()).email,
    }),
  )
  const file = writeMail(join(folder.path, 'mail'), 4096)
  // Otherwise the first case would measure the compiler, and more of it the slower the node is.
  for (const { port, recipient } of contestants) {
    const warmUp = { mails: WARM_UP_MAILS, senders: 20, reuse: false, file }
    await sendMails({ ...warmUp, port, to: await recipient() })
  }
  const results = new Map<string, Map<string, IntakeResult[]>>()
  for (const one of intakeCases([4])) {
    progress(`${threads} threads: ${one.name}`)
    const duration = { rounds: ROUNDS, seconds: SECONDS }
    results.set(one.name, await runCase(contestants, { ...one, file }, duration))
  }
  reportTable(
    ['case', 'store', 'mails/s', 'node CPU s per 1,000', 'of SQLite', 'PostgreSQL CPU s per 1,000'],
    [...results].flatMap(([name, outcomes]) => rowsOf(name, outcomes)),
  )
  for (const [name, outcomes] of results) {
    const share = shareOf(outcomes, POSTGRES)
    const goal = `${name}, SMTP threads: ${threads}: at least ${LEAST_SHARE} of SQLite in mails per CPU second`
    reportGoal(goal, share, share >= LEAST_SHARE)
  }
  for (const node of nodes) await node.stop()
}

function rowsOf(name: string, outcomes: Map<string, IntakeResult[]>): string[][] {
  return [...outcomes].map(([store, list], index) => [
    index === 0 ? name : '',
    store,
    spread(list.map(({ perSecond }) => perSecond)),
    spread(list.map(({ cpuPerThousand }) => cpuPerThousand)),
    figure(shareOf(outcomes, store)),
    store === SQLITE ? '' : figure(medianOf(outcomes, store, 'storeCpuPerThousand')),
  ])
}

/** Mails per CPU second of the node, of those on SQLite. */
function shareOf(outcomes: Map<string, IntakeResult[]>, store: string): number {
  return medianOf(outcomes, SQLITE, 'cpuPerThousand') / medianOf(outcomes, store, 'cpuPerThousand')
}

await main()
