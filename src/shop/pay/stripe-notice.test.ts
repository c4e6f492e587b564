import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SignOptions } from '../../../test/kit/shop/stripe/stripe-server.ts'
import type { StripeEvent } from '../../../test/kit/shop/stripe/stripe-state.ts'
import { openStripe } from './stripe.ts'
import { type Ordered, openStripeFixture, type StripeFixture } from './testing/stripe-fixture.ts'

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
  if (!event) throw new Error(`no event ${type}`)
  return event
}

async function parse(event: StripeEvent | string, options?: SignOptions) {
  const { body, signature } = shop.server.sign(event, options)
  const { id, type, findRefs } = await shop.remote.parseEvent(Buffer.from(body), signature)
  return { id, type, refs: await findRefs() }
}

const after = (seconds: number) => new Date(shop.clock.now.getTime() + seconds * 1_000)

test('a signed event identifies the order', async () => {
  expect(await parse(paid)).toEqual({
    id: paid.id,
    type: 'checkout.session.completed',
    refs: { checkoutRef: order.checkoutRef, subscriptionRef: undefined, orderId: order.id },
  })
})

describe('a signature', () => {
  const mismatch = 'Stripe-Signature: does not match the body, or is older than 300 seconds.'
  const missing = 'Stripe-Signature: header is missing.'

  for (const [name, header, sentence] of [
    ['that is missing', undefined, missing],
    ['that is empty', '', missing],
    ['in another format', 'hello', mismatch],
    ['without a time', 'v1=abc', mismatch],
    ['without a signature', 't=1804240800', mismatch],
    ['without a value', 't=1804240800,v1', mismatch],
    ['with an empty value', 't=1804240800,v1=', mismatch],
    ['that is not hexadecimal', 't=1804240800,v1=ÄÖÜ', mismatch],
    ['with an invalid time', 't=NaN,v1=abc', mismatch],
    ['of 35 KB', `t=1804240800,${'v1=abc,'.repeat(5_000)}`, mismatch],
  ] as const) {
    test(`${name} is refused`, async () => {
      const { body } = shop.server.sign(paid)
      await expect(shop.remote.parseEvent(Buffer.from(body), header)).rejects.toMatchObject({
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
      await expect(parse(paid, options())).rejects.toMatchObject({
        code: 'invalid_parameter',
        message: mismatch,
      })
    })
  }

  for (const seconds of [-300, -1, 0, 1, 300]) {
    test(`${seconds} seconds from now is accepted`, async () => {
      expect(await parse(paid, { at: after(seconds) })).toMatchObject({ id: paid.id })
    })
  }

  test('with a second timestamp is checked against the signed one', async () => {
    const fresh = `t=${Math.floor(shop.clock.now.getTime() / 1_000)}`
    for (const seconds of [-301, 301]) {
      const { body, signature } = shop.server.sign(paid, { at: after(seconds) })
      for (const header of [`${signature},${fresh}`, `${fresh},${signature}`]) {
        await expect(shop.remote.parseEvent(Buffer.from(body), header)).rejects.toThrow(mismatch)
      }
    }
  })
})

describe('a body', () => {
  for (const [name, change] of [
    ['reserialized', (body: string) => JSON.stringify(JSON.parse(body))],
    ['altered', (body: string) => body.replace('"amount_total": 500', '"amount_total": 900')],
    ['with a space appended', (body: string) => `${body} `],
    ['truncated', (body: string) => body.slice(0, -1)],
    ['emptied', () => ''],
  ] as const) {
    test(`${name} after signing is refused`, async () => {
      const { body, signature } = shop.server.sign(paid)
      expect(change(body)).not.toBe(body)
      await expect(
        shop.remote.parseEvent(Buffer.from(change(body)), signature),
      ).rejects.toMatchObject({
        code: 'invalid_parameter',
      })
    })
  }

  for (const body of ['null', '[]', '"text"', '{}', '{"id":7,"type":"invoice.paid"}', 'no JSON']) {
    test(`that is not an event is refused: ${body}`, async () => {
      await expect(parse(body)).rejects.toMatchObject({ code: 'invalid_parameter' })
    })
  }

  test('with non-ASCII characters is accepted', async () => {
    const { body, signature } = shop.server.sign({ ...paid, type: 'größe.名前.🙂' })
    expect(await shop.remote.parseEvent(Buffer.from(body), signature)).toMatchObject({
      id: paid.id,
    })
  })
})

describe('while the secret is rotated', () => {
  test('both secrets are accepted, a third is not', async () => {
    const options = { ...shop.options, webhookSecrets: ['whsec_new', 'whsec_old'] }
    const { remote } = openStripe(options)
    for (const secret of ['whsec_new', 'whsec_old']) {
      const { body, signature } = shop.server.sign(paid, { secret })
      expect(await remote?.parseEvent(Buffer.from(body), signature)).toMatchObject({ id: paid.id })
    }
    const { body, signature } = shop.server.sign(paid, { secret: 'whsec_third' })
    await expect(remote?.parseEvent(Buffer.from(body), signature)).rejects.toThrow('does not match')
  })

  test('without a secret nothing is accepted', async () => {
    const { remote } = openStripe({ ...shop.options, webhookSecrets: [] })
    const { body, signature } = shop.server.sign(paid, { secret: ' ' })
    await expect(remote?.parseEvent(Buffer.from(body), signature)).rejects.toThrow('does not match')
  })
})

test('no error contains the body, the signature or the secret', async () => {
  const { body } = shop.server.sign(paid)
  const { signature } = shop.server.sign(paid, { secret: 'whsec_canary' })
  const error = await shop.remote.parseEvent(Buffer.from(body), signature).catch((it: Error) => it)
  expect(error).toBeInstanceOf(Error)
  const { message, stack, cause } = error as Error
  const text = JSON.stringify([error, message, stack, cause])
  for (const secret of [signature, order.id, shop.server.webhookSecret]) {
    expect(text).not.toContain(secret)
  }
})

describe('no order is identified by', () => {
  for (const [name, change] of [
    ['an event of the other mode', { livemode: true }],
    ['an event of another account', { account: 'acct_1' }],
    ['an event without a mode', { livemode: undefined }],
    ['an event of a type that changes no order', { type: 'customer.updated' }],
    ['an event whose type is a property of Object', { type: 'constructor' }],
    ['an event without an object', { data: undefined }],
    ['an event with an empty object', { data: { object: {} } }],
  ] as const) {
    test(name, async () => {
      const event = { ...paid, ...change }
      expect(await parse(JSON.stringify(event))).toEqual({
        id: paid.id,
        type: event.type,
        refs: undefined,
      })
    })
  }

  test('a test event in live mode', async () => {
    const live = await openStripeFixture({ live: true })
    const { body, signature } = live.server.sign(paid)
    const { findRefs } = await live.remote.parseEvent(Buffer.from(body), signature)
    expect(await findRefs()).toBeUndefined()
    await live.server.close()
  })
})
