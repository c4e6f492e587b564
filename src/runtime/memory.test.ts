import { expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { memoryLimits, memorySize } from './memory.ts'

const MB = 1024 ** 2

for (const [megabytes, threads, children, mailMb, sendMb, cacheMb] of [
  [64_000, 4, 2, 256, 256, 64],
  [2_048, 4, 2, 256, 256, 64],
  [1_024, 4, 2, 128, 128, 32],
  [512, 1, 1, 64, 32, 16],
  [256, 1, 1, 64, 32, 8],
] as const) {
  test(`with ${megabytes} MB there are ${threads} threads, ${mailMb} MB for mail, ${cacheMb} MB for caches`, () => {
    expect(memoryLimits(megabytes * MB)).toMatchObject({
      threads,
      children,
      mailBytes: mailMb * MB,
      sendBytes: sendMb * MB,
      responseCacheBytes: cacheMb * MB,
      checkBytes: cacheMb * MB,
    })
  })
}

test('the largest mail always fits', () => {
  // Its buffer doubles as it grows.
  expect(memoryLimits(256 * MB).mailBytes).toBeGreaterThan(2 * 25 * MB)
})

test('without a setting it is the memory of the machine or of the control group', () => {
  expect(memorySize('auto')).toBeGreaterThan(64 * MB)
  expect(memorySize('auto')).toBeLessThan(2 ** 50)
})

test('little memory limits the default number of threads, not the one that is set', () => {
  const read = (env: Record<string, string>) =>
    readConfig({ env: { MAYFLY_MEMORY: '512MB', ...env }, file: {} }).config
  expect(read({}).smtp.threads).toBe(1)
  expect(read({}).http.threads).toBe(1)
  expect(read({ MAYFLY_HTTP_THREADS: '3' }).http.threads).toBe(3)
})
