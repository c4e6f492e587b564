import { randomBytes } from 'node:crypto'
import { secretHash } from '../../../src/base/id.ts'
import { issueKey } from '../../../src/keys/keys.ts'
import { KEY_RANDOM_BYTES, makeKeySecret } from '../../../src/keys/rules.ts'
import type { Config } from '../../../src/runtime/config.ts'
import { openShopStoreForCli } from '../../../src/runtime/stores.ts'
import { PLANS, type Plan } from '../../../src/shared/plan.ts'
import { type Payment, settle } from '../../../src/shop/rules.ts'
import type { ShopStore } from '../../../src/store/store.ts'
import { sharedApp, startApp } from '../app/app.ts'

export interface TestKey {
  id: string
  secret: string
  /** The request headers that authenticate with it. */
  headers: Record<string, string>
}

export type AppWithKeys = Awaited<ReturnType<typeof startAppWithKeys>>

/** The whole service, and access to its keys. */
export async function startAppWithKeys(options?: Parameters<typeof startApp>[0]) {
  const app = await startApp(options)
  const ring = await openKeyRing(app)
  return {
    ...app,
    ring,
    async stop() {
      await ring.close()
      await app.stop()
    },
  }
}

/** The shared service, likewise; it does not stop. */
export async function sharedAppWithKeys(): Promise<AppWithKeys> {
  const app = await sharedApp()
  const ring = await openKeyRing(app)
  return { ...app, ring, stop: ring.close }
}

export type KeyRing = Awaited<ReturnType<typeof openKeyRing>>

/** Creates and inspects keys while the service runs, like the operator's commands. */
export async function openKeyRing({
  config,
  now,
}: {
  config: Pick<Config, 'data' | 'store'>
  now(): Date
}) {
  const shop = await openShopStoreForCli(config)
  return { shop, ...keyRing(shop, now), close: () => shop.close() }
}

export function keyRing(shop: ShopStore, now: () => Date) {
  return {
    /** Issues a key with these plan limits; the others are Starter's. */
    issue: async (figures: Partial<Plan> = {}): Promise<TestKey> => await issue(shop, now, figures),
    /** A key that was bought, perhaps used, and refunded. */
    issueRefunded: async (use?: (keyId: string) => Promise<void>): Promise<TestKey> =>
      await issueRefunded(shop, now, use),
    used: async ({ id }: TestKey) => (await shop.readKey(id, now()))?.used,
  }
}

const [STARTER] = PLANS as readonly [Plan]

function testKey(id: string, secret: string): TestKey {
  return { id, secret, headers: { apikey: secret } }
}

async function issue(shop: ShopStore, now: () => Date, figures: Partial<Plan>): Promise<TestKey> {
  const order = { plan: { ...STARTER, ...figures }, label: 'a test', mode: 'live' } as const
  const { key, secret } = await issueKey({ shop, now, randomBytes }, order)
  return testKey(key.id, secret)
}

async function issueRefunded(
  shop: ShopStore,
  now: () => Date,
  use?: (keyId: string) => Promise<void>,
): Promise<TestKey> {
  const name = randomBytes(8).toString('hex')
  const [orderId, keyId, claimHash] = [`ord_${name}`, `key_${name}`, `claim ${name}`]
  await shop.addOrder({
    id: orderId,
    provider: 'fake',
    mode: 'live',
    plan: STARTER,
    email: undefined,
    createdAt: now(),
    keyId,
    keyPrefix: 'mf_live_stop',
    claimHash,
    idempotencyHash: undefined,
  })
  const secret = makeKeySecret('mf_live_stop', randomBytes(KEY_RANDOM_BYTES))
  await applyPayment(shop, orderId, { now: now(), refunded: 'no' })
  await shop.claimKey({ orderId, claimHash, secretHash: secretHash(secret), now: now() })
  await use?.(keyId)
  await applyPayment(shop, orderId, { now: now(), refunded: 'fully' })
  return testKey(keyId, secret)
}

async function applyPayment(
  shop: ShopStore,
  orderId: string,
  { now, refunded }: { now: Date; refunded: Payment['refunded'] },
): Promise<void> {
  const payment: Payment = { ref: 'p', paidAt: now, refunded, disputed: 'no' }
  const settlement = settle(STARTER, {
    state: 'paid',
    payments: [payment],
    renewal: 'none',
    subscriptionRef: undefined,
  })
  const { revision = 0 } = (await shop.readOrder(orderId)) ?? {}
  await shop.applySettlement({ orderId, revision, settlement, event: undefined, now })
}
