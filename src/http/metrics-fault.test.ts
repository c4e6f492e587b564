import assert from 'node:assert/strict'
import { test, vi } from 'vitest'
import type { RouteDeps } from './deps.ts'
import { metricsRoute } from './health.ts'
import type { HttpRequest } from './server/route.ts'

test('metrics are served while the store does not respond', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const deps: Partial<RouteDeps> = {
    adminToken: '',
    accountStatuses: () => new Promise<never>(() => {}),
    metrics: async () => 'counted 1\n',
    now: () => new Date(),
  }
  const request = { client: undefined, headers: {} } as HttpRequest
  const response = metricsRoute.handle({}, deps as RouteDeps, request)
  await vi.advanceTimersByTimeAsync(2_000)
  vi.useRealTimers()
  assert.equal((await response).body, 'counted 1\n')
})
