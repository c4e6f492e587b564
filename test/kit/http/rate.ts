import { expect } from 'vitest'

/**
 * Attempts until one is refused: `count` pass, and one more each time these seconds have passed, which a slow machine takes for
 * the attempts.
 */
export async function expectRate(
  { count, seconds }: { count: number; seconds: number },
  passes: () => Promise<boolean>,
): Promise<void> {
  const startedAt = performance.now()
  let passed = 0
  while (passed < 10 * count && (await passes())) passed += 1
  const regained = Math.ceil((performance.now() - startedAt) / (seconds * 1_000))
  expect(passed).toBeGreaterThanOrEqual(count)
  expect(passed).toBeLessThanOrEqual(count + regained)
}
