import assert from 'node:assert/strict'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { StripeEvent } from '../src/pay/testing/stripe-shapes.ts'
import { type Order, order } from './shop-client.ts'
import { startStripeApp } from './stripe-app.ts'

export type StripeOrders = Awaited<ReturnType<typeof openStripeOrders>>

export interface Bought extends Order {
  session: string
}

/** All that the shop remembers of an order and its key. */
export interface Kept {
  state: string
  payments: number
  partly_returned: number
  paid_until: number | null
  key_state: string | null
  expires_at: number | null
  used: number | null
}

const KEPT = `select purchase.state, payments, partly_returned, paid_until, api_key.state as key_state, expires_at, used
  from purchase left join api_key on api_key.id = key_id where purchase.id = ?`

/** The service with a Stripe behind it, and a look into its shop.db. */
export async function openStripeOrders() {
  const app = await startStripeApp()
  const db = new Database(join(app.folder, 'shop.db'))

  return {
    ...app,
    db,
    async buy(plan: string): Promise<Bought> {
      const made = await order(app.url, { plan })
      return { ...made, session: app.stripe.sessionsOf(made.id)[0] ?? '' }
    },
    kept({ id }: Order): Kept {
      const row = db.prepare<[string], Kept>(KEPT).get(id)
      assert.ok(row)
      return row
    },
    charge: ({ session }: Bought) => app.stripe.chargesOf(session)[0] ?? '',
    subscription: ({ session }: Bought) => app.stripe.subscriptionOf(session),
    deliver: (event: StripeEvent) => app.stripe.deliver(app.webhook, event),
    /** One order has one entitlement, and never two keys that live. */
    checkKeys(): void {
      const doubled = db.prepare(
        'select key_id from key_secret where until is null group by key_id having count(*) > 1',
      )
      assert.deepEqual(doubled.all(), [])
      const keys = db.prepare<[], number>('select count(*) from api_key').pluck()
      const paid = db.prepare<[], number>('select count(*) from purchase where payments > 0')
      assert.equal(keys.get(), paid.pluck().get())
    },
    async stop() {
      db.close()
      await app.stop()
    },
  }
}
