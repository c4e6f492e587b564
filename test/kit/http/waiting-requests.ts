import { waitingRequests } from '../../../src/http/server/limits.ts'
import { waitUntil } from '../wait-until.ts'

/** Resolves when this many requests of this process wait for mail. */
export async function waitForWaits(count: number): Promise<void> {
  await waitUntil(() => waitingRequests() === count)
}
