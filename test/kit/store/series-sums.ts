import type { SeriesName } from '../../../src/admin/series/rules.ts'
import { readSeries } from '../../../src/admin/series/series.ts'
import { readConfig } from '../../../src/runtime/config.ts'
import { openMailStoreForCli } from '../../../src/runtime/stores.ts'
import { storeFor } from './engine.ts'

const HOUR_MS = 3_600_000

/** The sums of a series over the last hours, the current one included, from the store of a service that may have stopped. */
export async function seriesSums(
  folder: string,
  name: SeriesName = 'mails',
  now = new Date(),
): Promise<Record<string, number>> {
  const env = { MAYFLY_DATA: folder, MAYFLY_STORE: await storeFor(folder) }
  const store = await openMailStoreForCli(readConfig({ env, file: {} }).config)
  const later = new Date(now.getTime() + HOUR_MS)
  const { points } = await readSeries({ store, now: () => later }, { name, range: '24h' })
  await store.close()
  const sums: Record<string, number> = {}
  for (const [label, value] of points.flatMap(({ values }) => Object.entries(values))) {
    sums[label] = (sums[label] ?? 0) + value
  }
  return sums
}
