const POLL_MS = 5
const TIMEOUT_MS = 30_000

/** Polls until the condition holds. */
export async function waitUntil(
  condition: () => unknown,
  timeoutMs: number = TIMEOUT_MS,
): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not true after ${timeoutMs} ms: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
