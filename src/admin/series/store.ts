import { type AsyncMethods, type Operation, query } from '../../base/operation.ts'
import {
  type Counts,
  rollUp,
  SERIES,
  SERIES_NAMES,
  type SeriesName,
  type SeriesRow,
  seriesCutoffs,
} from './rules.ts'

/** Counts over time, see rules.ts. */
export interface SeriesStore extends AsyncMethods<typeof seriesReads & typeof seriesTransactions> {}

export interface SeriesMinute {
  at: Date
  /** Identifies this run of the service: a restart counts from 0. */
  node: string
  counts: Partial<Record<SeriesName, Counts>>
}

interface SeriesQuery {
  name: SeriesName
  from: Date
  until: Date
}

const MINUTE = 60
const HOUR = 3_600

interface Row {
  at: number
  counts: string
}

export const seriesReads = {
  /** Rows of all nodes, by time: minutes, and the hours that they were rolled up to. */
  *readSeries({ name, from, until }: SeriesQuery): Operation<SeriesRow[]> {
    const rows = yield* query<Row>(
      `select at, counts from mail.series
       where name = $1 and seconds in (${MINUTE}, ${HOUR}) and at >= $2 and at < $3 order by at`,
      [name, from.getTime(), until.getTime()],
    )
    return rows.map(rowOf)
  },
}

/** Each in one transaction. */
export const seriesTransactions = {
  /** Sets what this node counted in a minute, in one commit: saving it again, with the same or later counts, replaces it. */
  *saveMinute({ at, node, counts }: SeriesMinute): Operation<void> {
    for (const name of SERIES_NAMES) {
      const found = counts[name]
      if (!found) continue
      const writer = SERIES[name].of === 'node' ? node : ''
      yield* save([name, MINUTE, at.getTime(), writer, JSON.stringify(found)])
    }
  },

  /** Rolls up minutes of the day before to hours, and deletes hours after 30 days. */
  *sweepSeries(now: Date): Operation<void> {
    const { minutes, hours } = seriesCutoffs(now)
    for (const name of SERIES_NAMES) {
      // The second of two concurrent transactions waits here for the rows that the first deletes, and then sees its hours.
      const rows = (yield* query<Row>(
        `delete from mail.series where name = $1 and seconds = ${MINUTE} and at < $2
         returning at, counts`,
        [name, minutes],
      )).map(rowOf)
      // A late sample of one node is not that of all, so it does not change the largest.
      const isGauge = SERIES[name].kind === 'gauge'
      const known = isGauge ? [] : yield* takeHours(name, rollUp(name, rows))
      for (const { at, counts } of rollUp(name, [...rows, ...known])) {
        const values = [name, HOUR, at, '', JSON.stringify(counts)]
        yield* save(values, isGauge ? 'nothing' : undefined)
      }
    }
    // Also series that this version does not have.
    yield* query('delete from mail.series where at < $1', [hours])
  },
}

/** The hours as rolled up before, if minutes of them were saved late. */
function* takeHours(name: string, hours: readonly SeriesRow[]): Operation<SeriesRow[]> {
  if (hours.length === 0) return []
  const rows = yield* query<Row>(
    `delete from mail.series where name = $1 and seconds = ${HOUR} and at = any($2::bigint[])
     returning at, counts`,
    [name, hours.map(({ at }) => at)],
  )
  return rows.map(rowOf)
}

function* save(
  values: (string | number)[],
  onConflict = 'update set counts = excluded.counts',
): Operation<void> {
  yield* query(
    `insert into mail.series (name, seconds, at, node, counts) values ($1, $2, $3, $4, $5)
     on conflict (name, seconds, at, node) do ${onConflict}`,
    values,
  )
}

function rowOf({ at, counts }: Row): SeriesRow {
  return { at, counts: JSON.parse(counts) }
}
