import { Stripe } from 'stripe'
import type { ObjectOf, Price, StripeEvent, StripeKind, StripeObject } from './stripe-shapes.ts'

/** All that the fake Stripe remembers, in the order in which it was made. */
export interface Ledger {
  live: boolean
  /** In whole seconds since 1970, as Stripe writes every time. */
  seconds(): number
  makeId(prefix: string): string
  add<Thing extends StripeObject>(thing: Thing): Thing
  find(id: string): StripeObject | undefined
  get<Kind extends StripeKind>(kind: Kind, id: string | null): ObjectOf<Kind>
  /** Newest first, as every list of Stripe's. */
  list<Kind extends StripeKind>(kind: Kind): ObjectOf<Kind>[]
  /** Tells the world, with a copy of the thing as it is now. */
  tell(type: string, thing: StripeObject): void
  events: StripeEvent[]
  prices: Map<string, Price>
  /** What each checkout sells, and the metadata it hands on. */
  orders: Map<string, { price: Price; handedOn: Record<string, string> }>
}

export function openLedger({ now, live }: { now(): Date; live: boolean }): Ledger {
  const things = new Map<string, StripeObject>()
  const events: StripeEvent[] = []
  let lastId = 0

  const seconds = () => Math.floor(now().getTime() / 1_000)
  const makeId = (prefix: string) => `${prefix}_${String(++lastId).padStart(14, '0')}`

  return {
    live,
    seconds,
    makeId,
    events,
    prices: new Map(),
    orders: new Map(),
    add(thing) {
      things.set(thing.id, thing)
      return thing
    },
    find: (id) => things.get(id),
    get<Kind extends StripeKind>(kind: Kind, id: string | null): ObjectOf<Kind> {
      const thing = things.get(id ?? '')
      if (thing?.object !== kind) throw new Error(`the fake Stripe has no ${kind} ${id}`)
      return thing as ObjectOf<Kind>
    },
    list<Kind extends StripeKind>(kind: Kind): ObjectOf<Kind>[] {
      return [...things.values()]
        .filter(({ object }) => object === kind)
        .reverse() as ObjectOf<Kind>[]
    },
    tell(type, thing) {
      events.push({
        id: makeId('evt'),
        object: 'event',
        api_version: Stripe.API_VERSION,
        created: seconds(),
        livemode: live,
        pending_webhooks: 1,
        type,
        request: { id: null, idempotency_key: null },
        data: { object: structuredClone(thing) },
      })
    },
  }
}
