import { join } from 'node:path'
import { startMayfly } from './contestants/mayfly.ts'
import { startPostgres } from './contestants/postgres.ts'
import {
  type Contestant,
  type IntakeResult,
  intakeCases,
  medianOf,
  runCase,
} from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { benchFolder } from './tools/processes.ts'
import { figure, progress, reportHeader, reportTable, say, spread } from './tools/report.ts'

// Intake rate of one node on PostgreSQL and on SQLite, and the CPU time it costs.

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 5
const SECONDS = quick ? 0.5 : 1.5
const SQLITE = 'SQLite'
const POSTGRES = 'PostgreSQL'

async function main(): Promise<void> {
  reportHeader('Intake: PostgreSQL and SQLite', 'postgres-intake')
  const folder = benchFolder()
  const postgres = await startPostgres()
  say(
    `- ${postgres.settings}`,
    `- Settings: ${ROUNDS} rounds of about ${SECONDS} s per store, alternating; one node with one SMTP thread, smtp-source on the same machine, one recipient`,
    '- CPU: user and system seconds per 1,000 mails, of the whole node and of all PostgreSQL processes.',
  )
  const env = { MAYFLY_STORE: postgres.urlOf(await postgres.database()) }
  const nodes = [
    { name: SQLITE, ...(await startMayfly(folder.inside('sqlite'))) },
    { name: POSTGRES, storePid: postgres.pid, ...(await startMayfly(folder.inside('pg'), env)) },
  ]
  const contestants = nodes.map(
    (node): Contestant => ({
      ...node,
      port: node.smtpPort,
      recipient: async () => (await node.session()).email,
    }),
  )
  const file = writeMail(join(folder.path, 'mail'), 4096)
  const rows: string[][] = []
  for (const one of intakeCases([4])) {
    progress(one.name)
    const duration = { rounds: ROUNDS, seconds: SECONDS }
    rows.push(...rowsOf(one.name, await runCase(contestants, { ...one, file }, duration)))
  }
  reportTable(
    ['case', 'store', 'mails/s', 'of SQLite', 'node CPU s per 1,000', 'PostgreSQL CPU s per 1,000'],
    rows,
  )
  for (const node of nodes) await node.stop()
  await postgres.close()
}

function rowsOf(name: string, outcomes: Map<string, IntakeResult[]>): string[][] {
  return [...outcomes].map(([store, list], index) => [
    index === 0 ? name : '',
    store,
    spread(list.map(({ perSecond }) => perSecond)),
    figure(medianOf(outcomes, store) / medianOf(outcomes, SQLITE)),
    figure(medianOf(outcomes, store, 'cpuPerThousand')),
    store === SQLITE ? '' : figure(medianOf(outcomes, store, 'storeCpuPerThousand')),
  ])
}

await main()
