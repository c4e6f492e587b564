import type { Stripe } from 'stripe'
import { asking } from './stripe-client.ts'
import { EVENT_TYPES } from './stripe-events.ts'

// Stripe lists the newest first, and we want the oldest: so many are held at once.
const MOST_HELD = 2_000
const PAGE = 100

interface Span {
  since: Date
  now: Date
}

/** Every event of the types we know since then, oldest first. Stripe remembers 30 days. */
export async function* missedEvents(
  client: Stripe,
  { since, now }: Span,
  mostHeld = MOST_HELD,
): AsyncGenerator<Stripe.Event> {
  // The second of now is in: what happens later within it is heard next time.
  const from = Math.floor(since.getTime() / 1_000)
  const before = Math.floor(now.getTime() / 1_000) + 1
  yield* eventsIn(client, { from, before }, mostHeld)
}

interface Seconds {
  from: number
  before: number
}

async function* eventsIn(
  client: Stripe,
  { from, before }: Seconds,
  mostHeld: number,
): AsyncGenerator<Stripe.Event> {
  const events = await asking(() =>
    client.events
      .list({ types: [...EVENT_TYPES], created: { gte: from, lt: before }, limit: PAGE })
      .autoPagingToArray({ limit: mostHeld + 1 }),
  )
  if (events.length <= mostHeld) {
    yield* events.reverse()
    return
  }
  const middle = Math.floor((from + before) / 2)
  if (middle === from) throw new Error(`Stripe has more than ${mostHeld} events of one second`)
  yield* eventsIn(client, { from, before: middle }, mostHeld)
  yield* eventsIn(client, { from: middle, before }, mostHeld)
}
