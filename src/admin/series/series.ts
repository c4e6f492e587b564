import type { LevelStore, StoreLevels } from '../../mail/level-store.ts'
import {
  rangeEnds,
  SERIES,
  SERIES_RANGES,
  type SeriesName,
  type SeriesRange,
  seriesPoints,
} from './rules.ts'
import type { SeriesStore } from './store.ts'

interface SeriesDeps {
  now(): Date
  store: Pick<SeriesStore, 'readSeries'> & LevelStore
}

/** Points of all nodes, one per complete step, oldest first. */
export async function readSeries(
  { store, now }: Omit<SeriesDeps, 'store'> & { store: Pick<SeriesStore, 'readSeries'> },
  { name, range }: { name: SeriesName; range: SeriesRange },
) {
  const time = now()
  const rows = await store.readSeries({ name, ...rangeEnds(range, time) })
  const { kind, unit } = SERIES[name]
  const stepSeconds = SERIES_RANGES[range].stepMs / 1000
  return { name, kind, unit, stepSeconds, points: seriesPoints(name, rows, { range, now: time }) }
}

// Longer than a node takes to save a minute.
const RECENT_MS = 180_000

/** Live sessions and stored bytes as recorded last: counting them takes time, so it is done only if there is no such record. */
export async function readLevels({
  store,
  now,
}: SeriesDeps): Promise<Pick<StoreLevels, 'liveSessions' | 'storedBytes'>> {
  const until = now()
  const recent = { from: new Date(until.getTime() - RECENT_MS), until }
  const last = async (name: SeriesName) =>
    (await store.readSeries({ name, ...recent })).at(-1)?.counts['']
  const [liveSessions, storedBytes] = [await last('sessions'), await last('stored_bytes')]
  return liveSessions === undefined || storedBytes === undefined
    ? await store.readStoreLevels(until)
    : { liveSessions, storedBytes }
}
