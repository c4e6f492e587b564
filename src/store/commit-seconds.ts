import { histogram } from '../base/metrics.ts'

/** Label: `mail` or `shop` on SQLite, else `postgres`: there, a single statement that commits by itself is not measured. */
export const commitSeconds = histogram(
  'mayfly_store_commit_seconds',
  'Time of a successful COMMIT until it is durable, by database',
  'store',
)
