import { histogram } from '../core/metrics.ts'

/** Label: `mail` or `shop` on SQLite, else `postgres`. */
export const commitSeconds = histogram(
  'mayfly_store_commit_seconds',
  'Time of a COMMIT until it is durable, by database',
  'store',
)
