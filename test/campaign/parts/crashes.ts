import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ENGINES, type Engine } from '../../kit/crash/engines.ts'
import { mixedLoad } from '../../kit/crash/load.ts'
import { withPowerCuts } from '../../kit/crash/on-disk.ts'
import { type CrashResult, crashUnderLoad } from '../../kit/crash/rounds.ts'
import { loopDiskProblem, makeLoopDisk } from '../../kit/programs/power-cut.ts'
import { findProgram } from '../../kit/programs/programs.ts'
import type { BatchOrder, Part } from '../part.ts'

/** Acknowledged before each fault. About twice as many are until it happens: more than a million at all kills and power cuts. */
const MAILS = 250
const FAULTS = 600

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
    run: (order) => crashUnderMixedLoad(fixed.name, start, order),
  }
}

/** If there is a finding, what is left is kept, and the finding says where. */
export async function crashUnderMixedLoad(
  name: string,
  start: Engine['start'],
  { count, done, report }: BatchOrder,
  outages: readonly number[] = [],
): Promise<CrashResult> {
  const evidence = join(tmpdir(), `mayfly-${name}-${done}-${process.pid}`)
  const load = { mails: MAILS, actors: await mixedLoad(), first: done, report, outages, evidence }
  const result = await crashUnderLoad({ start, count, ...load })
  const findings = result.findings.map((finding) => `${finding} (${evidence})`)
  return { ...result, findings }
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
