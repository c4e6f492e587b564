import PostalMime from 'postal-mime'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isProblem } from '../../test/kit/http/problem.ts'
import { openShopFixture, type ShopFixture, SITE } from '../../test/kit/shop/shop.ts'
import { openSmtpSink } from '../../test/kit/smtp/smtp-sink.ts'
import { openMailer } from '../base/mailer.ts'
import { claimKey } from './order.ts'
import { payFake } from './pay-fake.ts'
import { type ReceiptDeps, receiptSender, runReceipts } from './receipts.ts'
import { CLAIM_MS } from './rules.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

let fixture: ShopFixture
let server: Awaited<ReturnType<typeof openSmtpSink>>
let deps: ReceiptDeps
let sendDue: () => Promise<void>
beforeEach(async () => {
  fixture = await openShopFixture('fake')
  server = await openSmtpSink()
  const send = openMailer({ url: server.url, from: 'Shop <shop@mail.example>' })
  deps = { ...fixture.deps, send, baseUrl: SITE }
  sendDue = receiptSender(deps)
})
afterEach(async () => {
  await server.close()
  await fixture.stop()
})

async function paidOrder(email: string | undefined = 'ann@buyer.example', plan = 'business') {
  const placed = await fixture.order({ email, plan })
  await payFake(fixture.deps, placed.order.id, 'pay')
  return placed
}

async function lastMail() {
  const last = server.received.at(-1)
  expect.assert(last, 'a mail was sent')
  return { ...last, mail: await PostalMime.parse(last.raw) }
}

async function lastLink(): Promise<string> {
  const { mail } = await lastMail()
  const [, link = ''] = /\/orders\/ord_\w{22}#(\S+)/.exec(mail.text ?? '') ?? []
  return link
}

test('a receipt has all details of the order, but no key or claim secret', async () => {
  const { order, claimSecret } = await paidOrder()
  await sendDue()
  const { secret: key } = await claimKey(fixture.deps, order.id, claimSecret)
  const { mail, raw, from, to } = await lastMail()
  expect([from, to]).toStrictEqual(['shop@mail.example', ['ann@buyer.example']])
  const text = mail.text ?? ''
  for (const part of [
    'Business, 100,000 requests',
    '45 USD a year',
    '2028-03-05 10:00:00 UTC',
    order.id,
    order.keyPrefix,
    'This was a test',
    `${SITE}/orders/${order.id}#`,
  ]) {
    expect(text, part).toContain(part)
  }
  expect(mail.html).toBeUndefined()
  for (const secret of [key, key.slice(order.keyPrefix.length), claimSecret]) {
    expect.assert(!raw.includes(secret) && !text.includes(secret))
  }
})

test('a receipt is sent once', async () => {
  await paidOrder()
  await sendDue()
  await sendDue()
  await receiptSender(deps)()
  expect(server.received.length).toBe(1)
})

test('the link in a receipt shows the key once', async () => {
  const { order } = await paidOrder()
  await sendDue()
  const link = await lastLink()
  expect(link).toMatch(/^[A-Za-z0-9_-]{43}$/)
  const { secret } = await claimKey(fixture.deps, order.id, link)
  expect(secret.startsWith(order.keyPrefix)).toBeTruthy()
  await expect(claimKey(fixture.deps, order.id, link)).rejects.toSatisfy(isProblem('not_found'))
})

test('of fifty concurrent claims with the link, one succeeds', async () => {
  const { order } = await paidOrder()
  await sendDue()
  const link = await lastLink()
  const claims = await Promise.allSettled(
    Array.from({ length: 50 }, () => claimKey(fixture.deps, order.id, link)),
  )
  expect(claims.filter(({ status }) => status === 'fulfilled').length).toBe(1)
})

describe('receipts', () => {
  for (const [name, passed, sent] of [
    ['none is sent for an order paid more than three days ago', 1, 0],
    ['one is sent for an order paid three days ago', 0, 1],
  ] as const) {
    test(name, async () => {
      await paidOrder()
      fixture.pass(72 * HOUR + passed)
      await sendDue()
      expect(server.received.length).toBe(sent)
    })
  }

  test('none is sent for an unpaid order', async () => {
    await fixture.order({ email: 'ann@buyer.example' })
    await sendDue()
    expect(server.received).toStrictEqual([])
  })

  test('none is sent without an email address', async () => {
    const { order } = await fixture.order({ email: undefined })
    await payFake(fixture.deps, order.id, 'pay')
    await sendDue()
    expect(server.received).toStrictEqual([])
  })
})

describe('a receipt has no link', () => {
  async function checkLinkless(): Promise<void> {
    await sendDue()
    const { mail } = await lastMail()
    expect(mail.text ?? '').toMatch(/45 USD a year/)
    expect(mail.text ?? '').not.toMatch(/#|http/)
  }

  test('if the key was claimed and cannot be shown again', async () => {
    const { order, claimSecret } = await paidOrder()
    await claimKey(fixture.deps, order.id, claimSecret)
    fixture.pass(CLAIM_MS)
    await checkLinkless()
    expect((await lastMail()).mail.text ?? '').toMatch(/cannot be shown again/)
  })

  test('if the key was revoked', async () => {
    const { order } = await paidOrder()
    await fixture.shop.revokeKey(order.keyId)
    await checkLinkless()
  })

  test('if the order is of test mode and the shop is live', async () => {
    await paidOrder()
    const pay = { ...fixture.deps.pay, mode: 'live' as const }
    sendDue = receiptSender({ ...deps, pay })
    await checkLinkless()
  })
})

test('a receipt has a link if the key was claimed less than a day ago', async () => {
  const { order, claimSecret } = await paidOrder()
  await claimKey(fixture.deps, order.id, claimSecret)
  fixture.pass(CLAIM_MS - 1)
  await sendDue()
  expect(await lastLink()).not.toBe('')
})

describe('after a refusal by the mail server', () => {
  beforeEach(() => {
    server.state.refuse = true
  })

  /** Minutes until the next attempt; undefined if there is none. */
  async function minutesToNext(): Promise<number | undefined> {
    const until = new Date(fixture.deps.now().getTime() + 1_000 * HOUR)
    const [due] = await fixture.shop.listReceiptsDue(fixture.deps.now(), until, 1)
    if (!due) return undefined
    for (let minutes = 0; ; minutes += 1) {
      const then = new Date(fixture.deps.now().getTime() + minutes * MINUTE)
      const ready = await fixture.shop.listReceiptsDue(fixture.deps.now(), then, 1)
      if (ready.length > 0) return minutes
    }
  }

  test('a receipt is retried with growing delays, and not forever', async () => {
    await paidOrder()
    const delays: number[] = []
    let passed = 0
    for (;;) {
      await sendDue()
      const minutes = await minutesToNext()
      if (minutes === undefined) break
      delays.push(minutes)
      passed += minutes
      fixture.pass(minutes * MINUTE)
    }
    expect(delays.slice(0, 5)).toStrictEqual([1, 1, 2, 4, 8])
    expect(Math.max(...delays)).toBe(360)
    expect(passed >= 72 * 60 && passed < 80 * 60, `${passed} minutes`).toBeTruthy()
    expect(fixture.logged.at(-1)?.sentence).toBe('gave up sending a receipt')
  })

  test('a receipt sent later has the only valid link', async () => {
    const { order } = await paidOrder()
    const triedLinks: string[] = []
    const failing = receiptSender({
      ...deps,
      send: async ({ text }) => {
        triedLinks.push(/#(\S+)/.exec(text)?.[1] ?? '')
        throw new Error('unavailable')
      },
    })
    await failing()
    server.state.refuse = false
    fixture.pass(MINUTE)
    await sendDue()
    expect(server.received.length).toBe(1)
    await expect(claimKey(fixture.deps, order.id, triedLinks[0] ?? '')).rejects.toSatisfy(
      isProblem('not_found'),
    )
    await claimKey(fixture.deps, order.id, await lastLink())
  })

  test('the error is logged without the address of the buyer', async () => {
    await paidOrder()
    await sendDue()
    const logged = JSON.stringify(fixture.logged)
    expect(logged).toMatch(/sending a receipt failed/)
    expect(logged).not.toMatch(/ann@|buyer/)
  })
})

test('a receipt is not sent after a refund', async () => {
  const { order } = await paidOrder()
  const { revision } = await fixture.read(order.id)
  await fixture.shop.applySettlement({
    orderId: order.id,
    revision,
    settlement: {
      state: 'refunded',
      subscriptionRef: undefined,
      payments: 1,
      paidUntil: undefined,
      partlyRefunded: false,
      key: { state: 'stopped', expiresAt: undefined },
    },
    event: undefined,
    now: fixture.deps.now(),
  })
  await sendDue()
  expect(server.received).toStrictEqual([])
  const later = new Date(fixture.deps.now().getTime() + 1_000 * HOUR)
  expect(await fixture.shop.listReceiptsDue(new Date(0), later, 1)).toStrictEqual([])
})

test('the loop sends receipts and ends when aborted', async () => {
  const end = new AbortController()
  await paidOrder()
  const next = server.next()
  const loop = runReceipts(deps, end.signal)
  await next
  end.abort()
  await loop
})

test('an aborted loop completes the receipt in progress and sends no other', async () => {
  const end = new AbortController()
  await paidOrder()
  await paidOrder()
  const [sending, response] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let sent = 0
  const slow = async () => {
    sent += 1
    sending.resolve()
    await response.promise
  }
  const loop = runReceipts({ ...deps, send: slow }, end.signal)
  await sending.promise
  end.abort()
  response.resolve()
  await loop
  expect(sent).toBe(1)
  const due = await fixture.shop.listReceiptsDue(new Date(0), fixture.deps.now(), 10)
  expect(due.length, 'the one that was sent is noted').toBe(1)
})
