import assert from 'node:assert/strict'

/** Gives the event loop turns until something that is bound to happen has happened. */
export async function eventually(condition: () => boolean): Promise<void> {
  const until = performance.now() + 10_000
  while (!condition()) {
    assert.ok(performance.now() < until, `never came true: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
