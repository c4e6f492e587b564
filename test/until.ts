const LOOK_MS = 10
const MOST_MS = 30_000

/** Resolves when it holds, looked at again and again. */
export async function until(holds: () => unknown): Promise<void> {
  const end = performance.now() + MOST_MS
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`it never held: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}
