import { randomBytes } from 'node:crypto'
import { issueKey } from '../keys/keys.ts'
import { PLANS } from '../shared/plan.ts'
import { readConfig } from './config.ts'
import { openShopStoreForCli } from './stores.ts'

/** More than any test suite uses. */
const REQUESTS = 1_000_000

/** Issues a key of the service with these settings, which is running. */
export async function issueTestKey(settings: Readonly<Record<string, string>>): Promise<string> {
  const { config } = readConfig({ env: { ...settings }, file: {} })
  const [plan] = PLANS as readonly [(typeof PLANS)[number]]
  const shop = await openShopStoreForCli(config)
  try {
    const request = { plan: { ...plan, requests: REQUESTS }, label: 'tests', mode: 'live' } as const
    const { secret } = await issueKey({ shop, now: () => new Date(), randomBytes }, request)
    return secret
  } finally {
    await shop.close()
  }
}
