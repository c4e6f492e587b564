import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStripe } from './stripe.ts'
import type { SignOptions } from './testing/stripe-server.ts'
import type { StripeEvent } from './testing/stripe-shapes.ts'
import { type Ordered, openStripeFixture, type StripeFixture } from './testing/stripe-shop.ts'

let shop: StripeFixture
let order: Ordered
let paid: StripeEvent
beforeEach(async () => {
  shop = await openStripeFixture()
  order = await shop.createOrder('starter')
  shop.server.pay(order.checkoutRef)
  paid = taken('checkout.session.completed')
})
afterEach(async () => await shop.server.close())

/** The last event of this type. */
function taken(type: string): StripeEvent {
  const event = shop.server.take().findLast((each) => each.type === type)
  if (!event) throw new Error(`Stripe did not tell of ${type}`)
  return event
}

function hear(event: StripeEvent | string, options?: SignOptions) {
  const { body, signature } = shop.server.sign(event, options)
  return shop.book.parseEvent(Buffer.from(body), signature)
}

const after = (seconds: number) => new Date(shop.clock.now.getTime() + seconds * 1_000)

test('a message that Stripe signed names the order', async () => {
  expect(await hear(paid)).toEqual({
    id: paid.id,
    type: 'checkout.session.completed',
    about: { checkoutRef: order.checkoutRef, subscriptionRef: undefined, orderId: order.id },
  })
})

describe('a signature that is', () => {
  const fits = 'Stripe-Signature: it does not fit this body, or is not of the last 300 seconds.'
  const missing = 'Stripe-Signature: the header is missing.'

  for (const [name, header, sentence] of [
    ['not there', undefined, missing],
    ['empty', '', missing],
    ['no such header at all', 'hello', fits],
    ['without a time', 'v1=abc', fits],
    ['without a signature', 't=1804240800', fits],
    ['without a value', 't=1804240800,v1', fits],
    ['of no length', 't=1804240800,v1=', fits],
    ['of another alphabet', 't=1804240800,v1=ÄÖÜ', fits],
    ['signed at no time', 't=NaN,v1=abc', fits],
    ['very long', `t=1804240800,${'v1=abc,'.repeat(5_000)}`, fits],
  ] as const) {
    test(`${name} is refused`, async () => {
      const { body } = shop.server.sign(paid)
      await expect(shop.book.parseEvent(Buffer.from(body), header)).rejects.toMatchObject({
        code: 'invalid_parameter',
        message: sentence,
      })
    })
  }

  for (const [name, options] of [
    ['made with another secret', () => ({ secret: 'whsec_another' })],
    ['of the scheme v0', () => ({ scheme: 'v0' })],
    ['301 seconds old', () => ({ at: after(-301) })],
    ['301 seconds ahead', () => ({ at: after(301) })],
    ['a year ahead', () => ({ at: after(31_536_000) })],
  ] as const) {
    test(`${name} is refused`, async () => {
      await expect(hear(paid, options())).rejects.toMatchObject({
        code: 'invalid_parameter',
        message: fits,
      })
    })
  }

  for (const seconds of [-300, -1, 0, 1, 300]) {
    test(`${seconds} seconds from now is taken`, async () => {
      expect(await hear(paid, { at: after(seconds) })).toMatchObject({ id: paid.id })
    })
  }

  test('beside a second time is held against the one that was signed', async () => {
    const fresh = `t=${Math.floor(shop.clock.now.getTime() / 1_000)}`
    for (const seconds of [-301, 301]) {
      const { body, signature } = shop.server.sign(paid, { at: after(seconds) })
      for (const header of [`${signature},${fresh}`, `${fresh},${signature}`]) {
        await expect(shop.book.parseEvent(Buffer.from(body), header)).rejects.toThrow(fits)
      }
    }
  })
})

describe('a body that was', () => {
  for (const [name, change] of [
    ['written anew', (body: string) => JSON.stringify(JSON.parse(body))],
    ['altered', (body: string) => body.replace('"amount_total": 500', '"amount_total": 900')],
    ['made longer by a space', (body: string) => `${body} `],
    ['cut', (body: string) => body.slice(0, -1)],
    ['emptied', () => ''],
  ] as const) {
    test(`${name} after it was signed is refused`, async () => {
      const { body, signature } = shop.server.sign(paid)
      expect(change(body)).not.toBe(body)
      await expect(
        shop.book.parseEvent(Buffer.from(change(body)), signature),
      ).rejects.toMatchObject({
        code: 'invalid_parameter',
      })
    })
  }

  for (const body of ['null', '[]', '"text"', '{}', '{"id":7,"type":"invoice.paid"}', 'no JSON']) {
    test(`signed, but is no event, is refused: ${body}`, async () => {
      await expect(hear(body)).rejects.toMatchObject({ code: 'invalid_parameter' })
    })
  }

  test('signed as it came, with letters of all kinds, is taken', async () => {
    const { body, signature } = shop.server.sign({ ...paid, type: 'größe.名前.🙂' })
    expect(await shop.book.parseEvent(Buffer.from(body), signature)).toMatchObject({ id: paid.id })
  })
})

describe('while the secret is changed', () => {
  test('either of two is taken, a third is not', async () => {
    const options = { ...shop.options, webhookSecrets: ['whsec_new', 'whsec_old'] }
    const { book } = openStripe(options)
    for (const secret of ['whsec_new', 'whsec_old']) {
      const { body, signature } = shop.server.sign(paid, { secret })
      expect(await book?.parseEvent(Buffer.from(body), signature)).toMatchObject({ id: paid.id })
    }
    const { body, signature } = shop.server.sign(paid, { secret: 'whsec_third' })
    await expect(book?.parseEvent(Buffer.from(body), signature)).rejects.toThrow('does not fit')
  })

  test('with no secret at all nothing is taken, whatever it was signed with', async () => {
    const { book } = openStripe({ ...shop.options, webhookSecrets: [] })
    const { body, signature } = shop.server.sign(paid, { secret: ' ' })
    await expect(book?.parseEvent(Buffer.from(body), signature)).rejects.toThrow('does not fit')
  })
})

test('no refusal holds the message, the signature or the secret', async () => {
  const { body } = shop.server.sign(paid)
  const { signature } = shop.server.sign(paid, { secret: 'whsec_canary' })
  const error = await shop.book.parseEvent(Buffer.from(body), signature).catch((it: Error) => it)
  expect(error).toBeInstanceOf(Error)
  const { message, stack, cause } = error as Error
  const told = JSON.stringify([error, message, stack, cause])
  for (const secret of [signature, order.id, shop.server.webhookSecret]) {
    expect(told).not.toContain(secret)
  }
})

describe('about no order of ours is', () => {
  for (const [name, change] of [
    ['an event of the other mode', { livemode: true }],
    ['an event of another account', { account: 'acct_1' }],
    ['an event that does not tell its mode', { livemode: undefined }],
    ['an event of a type that changes no order', { type: 'customer.updated' }],
    ['an event whose type is a name of JavaScript', { type: 'constructor' }],
    ['an event without an object', { data: undefined }],
    ['an event with an object of nothing', { data: { object: {} } }],
  ] as const) {
    test(name, async () => {
      const event = { ...paid, ...change }
      expect(await hear(JSON.stringify(event))).toEqual({
        id: paid.id,
        type: event.type,
        about: undefined,
      })
    })
  }

  test('a test event, for a site that sells for real', async () => {
    const live = await openStripeFixture({ live: true })
    const { body, signature } = live.server.sign(paid)
    expect(await live.book.parseEvent(Buffer.from(body), signature)).toMatchObject({
      about: undefined,
    })
    await live.server.close()
  })
})
