import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ENGINES, type Engine } from '../../kit/crash/engines.ts'
import { mixedLoad } from '../../kit/crash/load.ts'
import { withPowerCuts } from '../../kit/crash/on-disk.ts'
import { crashUnderLoad } from '../../kit/crash/rounds.ts'
import { loopDiskProblem, makeLoopDisk } from '../../kit/programs/power-cut.ts'
import { findProgram } from '../../kit/programs/programs.ts'
import type { Part } from '../part.ts'

/** Acknowledged before each fault. About twice as many are until it happens: more than a million at all kills and power cuts. */
export const MAILS = 250
const FAULTS = 500

/** Debian's packages are those of `npm test`. */
export function programProblem(): string | undefined {
  const missing = ['dovecot', 'postgres'].find((name) => findProgram(name) === undefined)
  return missing && `${missing} is missing`
}

function crashPart(
  fixed: Pick<Part, 'name' | 'unit'> & Partial<Pick<Part, 'problem'>>,
  start: Engine['start'],
): Part {
  return {
    problem: programProblem,
    ...fixed,
    goal: FAULTS,
    quickGoal: 1,
    batch: 20,
    async run({ count, done, report }) {
      const load = { mails: MAILS, actors: await mixedLoad(), first: done, report }
      const evidence = join(tmpdir(), `mayfly-${fixed.name}-${done}-${process.pid}`)
      const result = await crashUnderLoad({ start, count, ...load, evidence })
      const findings = result.findings.map((finding) => `${finding} (${evidence})`)
      return { ...result, findings }
    },
  }
}

const cutProblem = () => programProblem() ?? loopDiskProblem()
const { SQLite, PostgreSQL } = ENGINES

/** The service is killed; on PostgreSQL, its server or both by turns. */
export const crashSqlite = crashPart({ name: 'crash-sqlite', unit: 'kills' }, SQLite.start)
export const crashPostgres = crashPart({ name: 'crash-postgres', unit: 'kills' }, PostgreSQL.start)

/** Only what the device was handed is there afterwards. */
export const powerSqlite = crashPart(
  { name: 'power-sqlite', unit: 'power cuts', problem: cutProblem },
  withPowerCuts(SQLite, makeLoopDisk),
)
export const powerPostgres = crashPart(
  { name: 'power-postgres', unit: 'power cuts', problem: cutProblem },
  withPowerCuts(PostgreSQL, makeLoopDisk),
)
