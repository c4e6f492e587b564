import {
  rangeEnds,
  SERIES,
  SERIES_RANGES,
  type SeriesName,
  type SeriesPoint,
  type SeriesRange,
  seriesPoints,
} from './rules.ts'
import type { SeriesStore, StoreLevels } from './series-store.ts'

export interface SeriesSummary {
  name: SeriesName
  /** How to read its values: what happened in a step, the most that was there, or `p50` and `p99`. */
  kind: (typeof SERIES)[SeriesName]['kind']
  unit: (typeof SERIES)[SeriesName]['unit']
}

export interface Series extends SeriesSummary {
  stepSeconds: number
  /** Of all nodes, one per complete step, oldest first. */
  points: SeriesPoint[]
}

export async function readSeries(
  { store, now }: { now(): Date; store: Pick<SeriesStore, 'readSeries'> },
  { name, range }: { name: SeriesName; range: SeriesRange },
): Promise<Series> {
  const time = now()
  const rows = await store.readSeries({ name, ...rangeEnds(range, time) })
  return {
    ...summaryOf(name),
    stepSeconds: SERIES_RANGES[range].stepMs / 1000,
    points: seriesPoints(name, rows, { range, now: time }),
  }
}

// Longer than a node takes to save a minute.
const RECENT_MS = 180_000

/** Live sessions and stored bytes as recorded last: counting them takes time, so it is done only if there is no such record. */
export async function readLevels({
  store,
  now,
}: {
  now(): Date
  store: Pick<SeriesStore, 'readSeries' | 'readStoreLevels'>
}): Promise<Pick<StoreLevels, 'liveSessions' | 'storedBytes'>> {
  const until = now()
  const recent = { from: new Date(until.getTime() - RECENT_MS), until }
  const last = async (name: SeriesName) =>
    (await store.readSeries({ name, ...recent })).at(-1)?.counts['']
  const [liveSessions, storedBytes] = [await last('sessions'), await last('stored_bytes')]
  return liveSessions === undefined || storedBytes === undefined
    ? await store.readStoreLevels(until)
    : { liveSessions, storedBytes }
}

function summaryOf(name: SeriesName): SeriesSummary {
  const { kind, unit } = SERIES[name]
  return { name, kind, unit }
}
