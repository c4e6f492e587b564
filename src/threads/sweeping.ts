import type { Config } from '../config.ts'
import type { Log } from '../core/log.ts'
import { sweepForEver } from '../service/sweep.ts'
import type { MailStore } from '../store/store.ts'
import { OPERATOR_MAIL_MS } from './stores.ts'

interface Needs {
  store: MailStore
  now(): Date
  log: Log
}

const REST_MS = 5_000

/** Clears away the mail and the sessions that are over. The answer ends it. */
export function startSweep(
  { sessions, pool }: Config,
  { store, now, log }: Needs,
): () => Promise<void> {
  const end = new AbortController()
  const kept = {
    cooldownMs: sessions.cooldownMs,
    poolMs: pool.ttlMs,
    operatorMs: OPERATOR_MAIL_MS,
  }
  const swept = sweepForEver({
    step: () => store.sweep({ ...kept, now: now() }),
    restMs: REST_MS,
    ended: end.signal,
    log,
  })
  return async () => {
    end.abort()
    await swept
  }
}
