import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import type { Log } from '../core/log.ts'
import { type LeaseTiming, runUnderLease } from '../service/background/lease.ts'
import { runDailyChecks } from '../service/checks/daily-checks.ts'
import type { MailStore } from '../store/store.ts'

export interface DailyCheckDeps {
  store: MailStore
  log: Log
  now(): Date
  /** All settings and their origin; undefined if a program passed them. */
  settings?: readonly { name: string; origin: string }[] | undefined
  /** Only tests set these. */
  firstMs?: number
  timing?: LeaseTiming
}

// Until a proxy and the other nodes have started too.
const FIRST_MS = 300_000

/** Makes the checks of `mayfly doctor` daily, on one node at a time. Returns a function that stops it. */
export function startDailyChecks(
  config: Config,
  { store, log, now, settings, firstMs = FIRST_MS, timing }: DailyCheckDeps,
): () => Promise<void> {
  const end = new AbortController()

  async function openChecks() {
    // Loaded when needed: nothing else of the service uses the probes.
    const [{ openCheckContext, settingsReport }, { listChecks }] = await Promise.all([
      import('./checks.ts'),
      import('../service/checks/checks.ts'),
    ])
    const report = settings && settingsReport(settings, process.env)
    const facts = { log, settingsReport: report, store, storeFault: undefined }
    return listChecks(await openCheckContext(config, facts))
  }

  const done = runUnderLease(
    { store, newHolder: randomUUID, log, ...(timing ? { timing } : {}) },
    {
      name: 'checks',
      operation: async (stop) => {
        await pause(firstMs, undefined, { signal: stop }).catch(() => {})
        await runDailyChecks({ store, openChecks, log, now }, stop)
      },
      ended: end.signal,
    },
  )
  return async () => {
    end.abort()
    await done
  }
}
