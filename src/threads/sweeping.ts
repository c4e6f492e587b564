import { randomUUID } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Log } from '../core/log.ts'
import { underLease } from '../service/lease.ts'
import { sweepForEver } from '../service/sweep.ts'
import type { MailStore } from '../store/store.ts'
import { OPERATOR_MAIL_MS } from './stores.ts'

interface Needs {
  store: MailStore
  now(): Date
  log: Log
}

const REST_MS = 5_000

/** Clears away the mail and the sessions that are over, on one node at a time. The answer ends it. */
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
  const step = () => store.sweep({ ...kept, now: now() })
  const swept = underLease(
    { store, newHolder: randomUUID, log },
    {
      name: 'sweep',
      deed: (stop) => sweepForEver({ step, restMs: REST_MS, ended: stop, log }),
      ended: end.signal,
    },
  )
  return async () => {
    end.abort()
    await swept
  }
}
