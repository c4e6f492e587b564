import type { Pause } from './budget.ts'
import type { FetchContext } from './fetch.ts'
import { openPoller } from './folder-sync.ts'
import { listFolders, specialFolders } from './folders.ts'
import type { AccountTiming } from './options.ts'
import type { Removals } from './removal.ts'

interface PollLoop {
  context: FetchContext
  wakeSignal: WakeSignal
  /** Undefined: fetched mail stays in the account. */
  removals: Removals | undefined
  timing: AccountTiming
  random(): number
  /** Everything received so far is fetched, or fetching pauses. */
  onPolled(pause: Pause | undefined): Promise<void>
}

/**
 * Fetches mail while the connection lasts: at once when the server pushes, otherwise by polling UIDNEXT. Throws the error that
 * closed the connection; returns when aborted.
 */
export async function runPollLoop(loop: PollLoop): Promise<void> {
  const { context, wakeSignal, removals } = loop
  const { connection, signal, deps } = context
  const special = specialFolders(await listFolders(connection))
  const poller = openPoller({ context, removals, special })
  let pause = await poller.pollAll()
  let polledAllAt = performance.now()
  while (!signal.aborted) {
    await loop.onPolled(pause)
    connection.startIdle()
    const reasons = await wakeSignal.wait(maxWaitMs(loop, pause))
    if (signal.aborted) return
    const error = connection.error()
    if (error) throw error
    if (pause && remainingMs(pause, deps.now()) > 0) {
      await poller.keepAlive()
      continue
    }
    // Pushes are for INBOX only; a busy INBOX must not starve the other folders.
    const isAllDue = performance.now() - polledAllAt >= loop.timing.pollMs
    const isPushed = pause === undefined && reasons.has('change')
    pause = isPushed ? await poller.pollInbox() : undefined
    if (!pause && (!isPushed || reasons.size > 1 || isAllDue)) {
      pause = await poller.pollAll()
      polledAllAt = performance.now()
    }
  }
}

function maxWaitMs({ timing, random, context }: PollLoop, pause: Pause | undefined): number {
  const pollMs = timing.pollMs * (0.8 + 0.4 * random())
  return pause ? Math.min(pollMs, remainingMs(pause, context.deps.now())) : pollMs
}

// A pause that seems longer was set before the clock was set back.
const MAX_PAUSE_MS = 25 * 60 * 60_000

function remainingMs({ until }: Pause, now: Date): number {
  const ms = until.getTime() - now.getTime()
  return ms > 0 && ms <= MAX_PAUSE_MS ? ms : 0
}

type WakeReason = 'change' | 'requested' | 'closing'

export interface WakeSignal {
  wake(reason: WakeReason): void
  /** Resolves with the reasons since the last call: at once if there are any, else at the next one or the timeout. */
  wait(timeoutMs: number): Promise<ReadonlySet<WakeReason>>
}

export function openWakeSignal(): WakeSignal {
  let reasons = new Set<WakeReason>()
  let resume = () => {}
  return {
    wake(reason) {
      reasons.add(reason)
      resume()
    },
    async wait(timeoutMs) {
      if (reasons.size === 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, timeoutMs)
        resume = resolve
        await promise
        clearTimeout(timer)
      }
      const pending = reasons
      reasons = new Set()
      return pending
    },
  }
}

/** Calls at once, then at most once per interval, however often `call` is called. */
export function throttle(action: () => void, intervalMs: number): { call(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined
  let isPending = false
  function run(): void {
    action()
    isPending = false
    timer = setTimeout(() => {
      timer = undefined
      if (isPending) run()
    }, intervalMs)
    timer.unref()
  }
  return {
    call() {
      if (timer) isPending = true
      else run()
    },
    stop: () => clearTimeout(timer),
  }
}
