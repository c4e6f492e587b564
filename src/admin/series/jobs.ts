import { randomUUID } from 'node:crypto'
import { logFault } from '../../base/jobs/outage.ts'
import { runUntilStopped, withTimeout } from '../../base/jobs/repeat.ts'
import { readMetrics } from '../../base/metrics.ts'
import { openRecorder, type RecorderDeps } from './record.ts'
import type { SeriesStore } from './store.ts'

// A store that is unavailable does not delay the exit.
const LAST_RECORD_MS = 3_000

/** Saves the series of this node; when it is stopped, those of the minute that has begun, too. */
export function startSeries(deps: Omit<RecorderDeps, 'before' | 'newNode'>) {
  const recorder = openRecorder({ ...deps, before: readMetrics(), newNode: randomUUID })
  return runUntilStopped(async (ended) => {
    await recorder.run(ended)
    const last = recorder.record().catch((error) => {
      logFault(deps.log, error, 'cannot save the last minute of the series')
    })
    await withTimeout(LAST_RECORD_MS, last)
  })
}

export const seriesSweep = {
  idleMs: 600_000,
  async step(store: Pick<SeriesStore, 'sweepSeries'>, now: Date): Promise<boolean> {
    await store.sweepSeries(now)
    return false
  },
}
