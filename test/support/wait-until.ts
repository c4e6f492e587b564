const POLL_MS = 10
const TIMEOUT_MS = 30_000

/** Resolves when it holds, looked at again and again. */
export async function waitUntil(holds: () => unknown): Promise<void> {
  const end = performance.now() + TIMEOUT_MS
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`it never held: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
