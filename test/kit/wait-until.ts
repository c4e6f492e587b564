const POLL_MS = 5
const MAX_POLL_MS = 50
// Only a test that fails waits so long: a machine may stall for seconds.
const TIMEOUT_MS = 60_000

/** Polls until the condition holds, less often the longer it takes: many conditions cost a request or a process. */
export async function waitUntil(
  condition: () => unknown,
  timeoutMs: number = TIMEOUT_MS,
): Promise<void> {
  const start = performance.now()
  while (!(await condition())) {
    const waitedMs = performance.now() - start
    if (waitedMs > timeoutMs) throw new Error(`not true after ${timeoutMs} ms: ${condition}`)
    await pauseAfter(waitedMs)
  }
}

/** The pause until the next poll: a twentieth of the time waited so far. */
export async function pauseAfter(waitedMs: number): Promise<void> {
  const ms = Math.min(Math.max(waitedMs / 20, POLL_MS), MAX_POLL_MS)
  await new Promise((resolve) => setTimeout(resolve, ms))
}
