import { type AsyncMethods, type Operation, query } from '../base/operation.ts'
import type { CheckRun } from './rules/result.ts'

type CheckRow = Omit<CheckRun['checks'][number], 'since'> & { since: number }

export const checkRunReads = {
  /** The last daily run of the checks; undefined before the first. */
  *readCheckRun(): Operation<CheckRun | undefined> {
    const [row] = yield* query<{ finished_at: number; checks: string }>(
      'select finished_at, checks from mail.check_run',
    )
    if (!row) return undefined
    const checks = JSON.parse(row.checks) as CheckRow[]
    return {
      finishedAt: new Date(row.finished_at),
      checks: checks.map((check) => ({ ...check, since: new Date(check.since) })),
    }
  },
}

export const checkRunWrites = {
  *saveCheckRun({ finishedAt, checks }: CheckRun): Operation<void> {
    const rows = checks.map((check): CheckRow => ({ ...check, since: check.since.getTime() }))
    yield* query(
      `insert into mail.check_run (id, finished_at, checks) values (1, $1, $2)
       on conflict (id) do update set finished_at = excluded.finished_at, checks = excluded.checks`,
      [finishedAt.getTime(), JSON.stringify(rows)],
    )
  },
}

export interface CheckRunStore extends AsyncMethods<typeof checkRunReads & typeof checkRunWrites> {}
