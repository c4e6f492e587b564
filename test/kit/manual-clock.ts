import { onTestFinished } from 'vitest'
import { openTestServer } from './http/http-server.ts'
import { PROXY_ENV } from './http/trusted-proxy.ts'
import { keyRing } from './shop/keys.ts'

/** The HTTP server with a key and a clock that never advances by itself: token buckets can be counted exactly. */
export async function openServerWithManualClock(env: Record<string, string> = {}) {
  let now = new Date()
  const server = await openTestServer({ env: { ...PROXY_ENV, ...env }, now: () => now })
  onTestFinished(() => server.stop())
  return {
    server,
    key: await keyRing(server.shop, server.now).issue(),
    passSeconds(seconds: number): void {
      now = new Date(now.getTime() + seconds * 1_000)
    },
  }
}
