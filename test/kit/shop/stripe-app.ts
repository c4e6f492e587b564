import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import { startApp } from '../app/app.ts'
import { createOrder, type Order } from './shop-client.ts'
import { openStripeServer, type StripeServer } from './stripe/stripe-server.ts'
import type { StripeEvent } from './stripe/stripe-state.ts'

export type StripeApp = Awaited<ReturnType<typeof startStripeApp>>

interface StripeAppOptions {
  env?: Record<string, string>
  secretKey?: string
  webhookSecret?: string
}

/** The whole service with our own Stripe emulator; both use the clock of the service. */
export async function startStripeApp({ env = {}, ...secrets }: StripeAppOptions = {}) {
  const clock = { now: () => new Date() }
  const stripe = await openStripeServer({ now: () => clock.now(), ...secrets })
  const app = await startApp({
    env: { ...stripeEnv(stripe), ...env },
  })
  clock.now = app.now
  const webhook = `${app.url}/api/stripe/webhook`

  return {
    ...app,
    stripe,
    webhook,
    /** Delivers Stripe's events since the last call, in order. */
    async deliverEvents(): Promise<void> {
      for (const event of stripe.take()) {
        const status = await stripe.deliver(webhook, event)
        if (status !== 200) throw new Error(`${event.type} was answered ${status}`)
      }
    },
    async stop() {
      await app.stop()
      await stripe.close()
    },
  }
}

/** The settings of a service that sells through this Stripe. */
export function stripeEnv({ url, secretKey, webhookSecret }: StripeServer): Record<string, string> {
  return {
    MAYFLY_PAYMENTS: 'stripe',
    MAYFLY_STRIPE_API: url,
    MAYFLY_STRIPE_SECRET_KEY: secretKey,
    MAYFLY_STRIPE_WEBHOOK_SECRET: webhookSecret,
    MAYFLY_BASE_URL: 'https://mail.example',
  }
}

export type StripeOrders = Awaited<ReturnType<typeof openStripeOrders>>

export interface Bought extends Order {
  session: string
}

/** All that the shop stores about an order and its key. */
export interface StoredOrder {
  state: string
  payments: number
  partly_returned: number
  paid_until: number | null
  key_state: string | null
  expires_at: number | null
  used: number | null
}

const STORED_ORDER = `select purchase.state, payments, partly_returned, paid_until, api_key.state as key_state, expires_at, used
  from purchase left join api_key on api_key.id = key_id where purchase.id = ?`

/** The service with Stripe, and read access to its shop.db. */
export async function openStripeOrders() {
  const app = await startStripeApp()
  const db = new Database(join(app.folder, 'shop.db'))

  return {
    ...app,
    db,
    async buy(plan: string): Promise<Bought> {
      const made = await createOrder(app.url, { plan })
      return { ...made, session: app.stripe.sessionsOf(made.id)[0] ?? '' }
    },
    stored({ id }: Order): StoredOrder {
      const row = db.prepare<[string], StoredOrder>(STORED_ORDER).get(id)
      expect.assert(row)
      return row
    },
    charge: ({ session }: Bought) => app.stripe.chargesOf(session)[0] ?? '',
    subscription: ({ session }: Bought) => app.stripe.subscriptionOf(session),
    deliver: (event: StripeEvent) => app.stripe.deliver(app.webhook, event),
    /** An order has one entitlement, and never two active keys. */
    assertOneKeyPerOrder(): void {
      const doubled = db.prepare(
        'select key_id from key_secret where until is null group by key_id having count(*) > 1',
      )
      expect(doubled.all()).toStrictEqual([])
      const keys = db.prepare<[], number>('select count(*) from api_key').pluck()
      const paid = db.prepare<[], number>('select count(*) from purchase where payments > 0')
      expect(keys.get()).toBe(paid.pluck().get())
    },
    async stop() {
      db.close()
      await app.stop()
    },
  }
}
