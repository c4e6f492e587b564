import type { Counts, SeriesName, SeriesRow } from './rules.ts'

/** Counts over time, see admin/series/rules.ts. */
export interface SeriesStore {
  /** Sets what this node counted in a minute, in one commit: saving it again, with the same or later counts, replaces it. */
  saveMinute(minute: SeriesMinute): Promise<void>
  /** Of all nodes, by time: minutes, and the hours that they were rolled up to. */
  readSeries(query: SeriesQuery): Promise<SeriesRow[]>
  /** Rolls up minutes of the day before to hours, and deletes hours after 30 days. */
  sweepSeries(now: Date): Promise<void>
  readStoreLevels(now: Date): Promise<StoreLevels>
}

export interface SeriesMinute {
  at: Date
  /** Of this run of the service: unique, because a restart counts from 0. */
  node: string
  counts: Partial<Record<SeriesName, Counts>>
}

export interface SeriesQuery {
  name: SeriesName
  from: Date
  until: Date
}

/** Of the whole installation. */
export interface StoreLevels {
  liveSessions: number
  /** On SQLite, of mail.db without what deleted mail has left free. On PostgreSQL, of the whole database with it. */
  storedBytes: number
  /** When the oldest session that the sweep has yet to clear expires; undefined if there is none. */
  oldestExpiry: Date | undefined
}
