import assert from 'node:assert/strict'

/** Waits until the condition holds; fails after ten seconds. */
export async function eventually(condition: () => boolean): Promise<void> {
  const until = performance.now() + 10_000
  while (!condition()) {
    assert.ok(performance.now() < until, `not met within 10 s: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
