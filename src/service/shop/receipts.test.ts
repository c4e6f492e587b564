import assert from 'node:assert/strict'
import PostalMime from 'postal-mime'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { isProblem } from '../../../test/support/problem.ts'
import { openSmtpSink } from '../../../test/support/smtp-sink.ts'
import { CLAIM_MS } from '../../core/purchase.ts'
import { openMailer } from '../../pay/receipt-mail.ts'
import { openShopFixture, type ShopFixture, SITE } from '../testing/shop.ts'
import { claimKey } from './order.ts'
import { payFake } from './pay-fake.ts'
import { type ReceiptDeps, receiptSender, runReceipts } from './receipts.ts'

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
  const made = await fixture.order({ email, plan })
  await payFake(fixture.deps, made.order.id, 'pay')
  return made
}

async function lastMail() {
  const last = server.received.at(-1)
  assert.ok(last, 'a mail was sent')
  return { ...last, mail: await PostalMime.parse(last.raw) }
}

async function lastLink(): Promise<string> {
  const { mail } = await lastMail()
  const [, link = ''] = /\/orders\/ord_\w{22}#(\S+)/.exec(mail.text ?? '') ?? []
  return link
}

test('a paid order is told to its buyer, with all but the key', async () => {
  const { order, claimSecret } = await paidOrder()
  await sendDue()
  const { secret: key } = await claimKey(fixture.deps, order.id, claimSecret)
  const { mail, raw, from, to } = await lastMail()
  assert.deepEqual([from, to], ['shop@mail.example', ['ann@buyer.example']])
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
    assert.ok(text.includes(part), part)
  }
  assert.equal(mail.html, undefined)
  for (const secret of [key, key.slice(order.keyPrefix.length), claimSecret]) {
    assert.ok(!raw.includes(secret) && !text.includes(secret))
  }
})

test('it is sent once', async () => {
  await paidOrder()
  await sendDue()
  await sendDue()
  await receiptSender(deps)()
  assert.equal(server.received.length, 1)
})

test('the link shows the key once', async () => {
  const { order } = await paidOrder()
  await sendDue()
  const link = await lastLink()
  assert.match(link, /^[A-Za-z0-9_-]{43}$/)
  const { secret } = await claimKey(fixture.deps, order.id, link)
  assert.ok(secret.startsWith(order.keyPrefix))
  await assert.rejects(claimKey(fixture.deps, order.id, link), isProblem('not_found'))
})

test('fifty who follow the link at once: one of them gets a key', async () => {
  const { order } = await paidOrder()
  await sendDue()
  const link = await lastLink()
  const claims = await Promise.allSettled(
    Array.from({ length: 50 }, () => claimKey(fixture.deps, order.id, link)),
  )
  assert.equal(claims.filter(({ status }) => status === 'fulfilled').length, 1)
})

describe('no receipt', () => {
  for (const [name, passed, sent] of [
    ['for an order that was paid more than three days before there was a mail server', 1, 0],
    ['is missing for one that was paid three days before', 0, 1],
  ] as const) {
    test(name, async () => {
      await paidOrder()
      fixture.pass(72 * HOUR + passed)
      await sendDue()
      assert.equal(server.received.length, sent)
    })
  }

  test('for an order that is not paid', async () => {
    await fixture.order({ email: 'ann@buyer.example' })
    await sendDue()
    assert.deepEqual(server.received, [])
  })

  test('for a buyer who gave no address', async () => {
    const { order } = await fixture.order({ email: undefined })
    await payFake(fixture.deps, order.id, 'pay')
    await sendDue()
    assert.deepEqual(server.received, [])
  })
})

describe('a receipt has no link', () => {
  async function checkLinkless(): Promise<void> {
    await sendDue()
    const { mail } = await lastMail()
    assert.match(mail.text ?? '', /45 USD a year/)
    assert.doesNotMatch(mail.text ?? '', /#|http/)
  }

  test('when the key was claimed, and is not shown again', async () => {
    const { order, claimSecret } = await paidOrder()
    await claimKey(fixture.deps, order.id, claimSecret)
    fixture.pass(CLAIM_MS)
    await checkLinkless()
    assert.match((await lastMail()).mail.text ?? '', /It is not shown again/)
  })

  test('when the key was revoked', async () => {
    const { order } = await paidOrder()
    await fixture.shop.revokeKey(order.keyId)
    await checkLinkless()
  })

  test('when it was a test, and money moves by now', async () => {
    await paidOrder()
    const pay = { ...fixture.deps.pay, mode: 'live' as const }
    sendDue = receiptSender({ ...deps, pay })
    await checkLinkless()
  })
})

test('a key that was claimed a moment ago still has its link', async () => {
  const { order, claimSecret } = await paidOrder()
  await claimKey(fixture.deps, order.id, claimSecret)
  fixture.pass(CLAIM_MS - 1)
  await sendDue()
  assert.notEqual(await lastLink(), '')
})

describe('a mail server that refuses', () => {
  beforeEach(() => {
    server.state.refuse = true
  })

  /** When it is tried the next time, in minutes from now; undefined: never again. */
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

  test('is asked again after pauses that grow, and not for ever', async () => {
    await paidOrder()
    const pauses: number[] = []
    let passed = 0
    for (;;) {
      await sendDue()
      const minutes = await minutesToNext()
      if (minutes === undefined) break
      pauses.push(minutes)
      passed += minutes
      fixture.pass(minutes * MINUTE)
    }
    assert.deepEqual(pauses.slice(0, 5), [1, 1, 2, 4, 8])
    assert.equal(Math.max(...pauses), 360)
    assert.ok(passed >= 72 * 60 && passed < 80 * 60, `${passed} minutes`)
    assert.equal(fixture.logged.at(-1)?.sentence, 'gave up sending a receipt')
  })

  test('and takes it later: only the link of that mail opens the order', async () => {
    const { order } = await paidOrder()
    const tried: string[] = []
    const failing = receiptSender({
      ...deps,
      send: async ({ text }) => {
        tried.push(/#(\S+)/.exec(text)?.[1] ?? '')
        throw new Error('away')
      },
    })
    await failing()
    server.state.refuse = false
    fixture.pass(MINUTE)
    await sendDue()
    assert.equal(server.received.length, 1)
    await assert.rejects(claimKey(fixture.deps, order.id, tried[0] ?? ''), isProblem('not_found'))
    await claimKey(fixture.deps, order.id, await lastLink())
  })

  test('is told to the operator without the buyer’s address', async () => {
    await paidOrder()
    await sendDue()
    const told = JSON.stringify(fixture.logged)
    assert.match(told, /sending a receipt failed/)
    assert.doesNotMatch(told, /ann@|buyer/)
  })
})

test('money that was given back meanwhile needs no receipt', async () => {
  const { order } = await paidOrder()
  const { revision } = await fixture.read(order.id)
  await fixture.shop.settlePurchase({
    orderId: order.id,
    revision,
    settlement: {
      state: 'refunded',
      subscriptionRef: undefined,
      payments: 1,
      paidUntil: undefined,
      partlyReturned: false,
      key: { state: 'stopped', expiresAt: undefined },
    },
    event: undefined,
    now: fixture.deps.now(),
  })
  await sendDue()
  assert.deepEqual(server.received, [])
  const later = new Date(fixture.deps.now().getTime() + 1_000 * HOUR)
  assert.deepEqual(await fixture.shop.listReceiptsDue(new Date(0), later, 1), [])
})

test('the loop sends by itself, and ends when it is told to', async () => {
  const end = new AbortController()
  await paidOrder()
  const next = server.next()
  const loop = runReceipts(deps, end.signal)
  await next
  end.abort()
  await loop
})

test('told to end, it sends no further one, and its end is that of the one under way', async () => {
  const end = new AbortController()
  await paidOrder()
  await paidOrder()
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let sent = 0
  const slow = async () => {
    sent += 1
    asked.resolve()
    await answer.promise
  }
  const loop = runReceipts({ ...deps, send: slow }, end.signal)
  await asked.promise
  end.abort()
  answer.resolve()
  await loop
  assert.equal(sent, 1)
  const due = await fixture.shop.listReceiptsDue(new Date(0), fixture.deps.now(), 10)
  assert.equal(due.length, 1, 'the one that was sent is noted')
})
