import type { Address, Host } from '../../../../src/base/address.ts'
import { parseBlockEntry } from '../../../../src/blocks/rules.ts'
import { type MailLogEvent, mailLogLine } from '../../../../src/mail/log/rules.ts'
import { openMailStoreForCli } from '../../../../src/runtime/stores.ts'
import { PLANS } from '../../../../src/shared/plan.ts'
import { settle } from '../../../../src/shop/rules.ts'
import type { App } from '../../app/app.ts'
import type { KeyRing, TestKey } from '../../shop/keys.ts'
import { createOrder, payOrder } from '../../shop/shop-client.ts'
import type { ViewContext } from '../views.ts'

// Names that strangers choose.
export const MARKUP = '<img src=x onerror="alert(1)">'
const LONG = 'x'.repeat(60)
const HEBREW = 'שלום, מייל חדש'

const REFUSED = '550 5.1.1 No such mailbox'

/** A line of each kind. */
async function addLogLines(store: Store, at: Date): Promise<void> {
  const mail = { at, command: 'DATA', ip: '192.0.2.1', helo: 'mx.sender.example', ms: 12 }
  const sent = {
    ...mail,
    sender: 'ann@sender.example',
    recipients: [{ address: 'l.smith@box.test' }],
  }
  const command = { ...sent, command: 'RCPT', reason: REFUSED }
  const events: MailLogEvent[] = [
    { ...sent, result: 'accepted', reason: '', id: 'mi3t6c2v0k9x', size: 4_000, tls: 'TLSv1.3' },
    { ...command, result: 'refused', helo: MARKUP, sender: `${HEBREW}@${MARKUP}` },
    { ...command, result: 'deferred', reason: '452 4.2.2 Mailbox full', ip: '2001:db8::17' },
    { ...sent, result: 'aborted', reason: 'the client closed the connection' },
    { ...command, result: 'refused', recipients: [{ address: `${LONG}@${LONG}.${LONG}.example` }] },
    {
      ...{ at, result: 'ignored', reason: 'for no live alias', command: 'FETCH', id: 'INBOX/7' },
      account: 'jane.doe@gmail.com',
      recipients: [{ address: 'jane.doe+shop@gmail.com' }],
    },
    { at, result: 'refused', reason: 'only counted', command: '', ip: '192.0.2.9', count: 1_940 },
    { at, result: 'refused', reason: '554 5.7.1 Blocked', command: 'CONNECT', ip: '192.0.2.8' },
  ]
  await store.addLogLines(
    events.map((event) => ({ line: mailLogLine(event, 'masked'), hashes: [] })),
  )
}

type Store = Awaited<ReturnType<typeof openMailStoreForCli>>

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** One of each kind that the views show, with hostile names. */
export async function seed({ app, ring }: Pick<ViewContext, 'app' | 'ring'>): Promise<void> {
  const store = await openMailStoreForCli(app.config)
  const key = await ring.issue({ perDay: 100 })
  await addOwnDomains(store, key.id, app.now())
  await recordTraffic(store, app.now())
  await addCheckRun(store, app.now())
  await addDomains(store)
  await store.addAccount('jane.doe@gmail.com' as Address)
  const entries = Array.from({ length: 52 }, (_, at) => parseBlockEntry(`spam-${at}.example`))
  const block = { note: '', expiresAt: undefined, now: app.now() }
  await store.addBlocks({ ...block, entries })
  await store.addBlocks({
    ...block,
    entries: [parseBlockEntry(`${LONG}@bulk.example`), parseBlockEntry('2001:db8::/32')],
    note: `${MARKUP} ${HEBREW}`,
    expiresAt: new Date(app.now().getTime() + HOUR_MS),
  })
  await addLogLines(store, app.now())
  await store.close()
  const { email } = await app.session({ prefix: LONG }, key.headers)
  for (const subject of [HEBREW, MARKUP, LONG.repeat(3), 'Spam']) {
    const head = `From: ${MARKUP.replaceAll(/[<>]/g, '')} <ann@sender.test>\r\nSubject: ${subject}`
    await app.mail(
      'abuse@box.test',
      `${head}\r\n\r\nHi. See ${email}.\r\n${HEBREW}\r\n${LONG.repeat(4)}\r\n`,
    )
  }
  await ring.shop.labelKey(key.id, MARKUP)
  await ring.shop.labelKey((await ring.issue()).id, `${HEBREW} ${LONG}`)
  const revoked = await ring.issue()
  await ring.shop.revokeKey(revoked.id)
  await app.session()
  await addWebhooks(ring, key, app.now())
  await addOrders(app, ring)
}

/** An hour, a day and 30 days, with a row for as many minutes as a step has. */
async function recordTraffic(store: Store, now: Date): Promise<void> {
  const minute = Math.floor(now.getTime() / MINUTE_MS)
  const steps = (count: number, minutes: number, first: number) =>
    Array.from({ length: count }, (_, at) => [first + at * minutes, minutes] as const)
  for (const [ago, minutes] of [
    ...steps(50, 1, 1),
    ...steps(264, 5, 80),
    ...steps(680, 60, 1_500),
  ]) {
    const wave = Math.round(20 + 15 * Math.sin(ago / minutes / 6))
    const times = (counts: Record<string, number>) =>
      Object.fromEntries(Object.entries(counts).map(([label, count]) => [label, count * minutes]))
    await store.saveMinute({
      at: new Date((minute - ago) * MINUTE_MS),
      node: 'earlier',
      counts: {
        mails: times({ stored: wave, fetched: ago % 5, full: ago % 7 === 0 ? 3 : 0, fault: 1 }),
        refusals: times({ unknown: ago % 7, blocked: ago % 3, too_many_connections: 1 }),
        requests: times({ '2xx': wave * 9, '4xx': ago % 5, '5xx': ago % 11 === 0 ? 2 : 0 }),
        sessions: { '': 400 + wave },
        stored_bytes: { '': 3e9 - ago * 4e4 },
        latency: times({ '0.005': 40, '0.025': wave, '0.1': ago % 4 }),
      },
    })
  }
}

async function addCheckRun(store: Store, now: Date): Promise<void> {
  const fix = 'box.test. 3600 IN MX 10 mail.box.test.'
  const seen = `v=DMARC1; p=none; rua=mailto:${LONG}@box.test; ${MARKUP}`
  const since = new Date(now.getTime() - 50 * HOUR_MS)
  await store.saveCheckRun({
    finishedAt: new Date(now.getTime() - HOUR_MS),
    checks: [
      { name: 'clock', status: 'ok', seen: 'synchronized', fix: '', since },
      { name: 'mx', subject: 'box.test', status: 'failure', seen: 'no MX record', fix, since },
      { name: 'dmarc', subject: 'box.test', status: 'warning', seen, fix: 'p=reject', since },
      { name: 'redis', status: 'skipped', seen: 'not used', fix: '', since },
    ],
  })
}

async function addDomains(store: Store): Promise<void> {
  const domain = { sessions: true, reader: false, ttlSeconds: 86_400 }
  for (const name of ['gone.test', 'paused.test', `${LONG}.long.test`] as Host[]) {
    await store.addDomain({ ...domain, name })
  }
  await store.changeDomain('gone.test' as Host, { removed: true })
  await store.changeDomain('paused.test' as Host, { active: false })
}

/** One in each state. */
async function addOwnDomains(store: Store, keyId: string, now: Date): Promise<void> {
  const names = ['new.own.test', 'mail.own.test', 'off.own.test', `${LONG}.own.test`] as Host[]
  for (const name of names) {
    const id = `dom_${name}`
    await store.addOwnDomain({ id, keyId, name, token: 'token', createdAt: now }, names.length)
    if (name !== names[0]) await store.activateOwnDomain({ id, keyId, now })
  }
  const off = { state: 'suspended', reason: 'suspended_by_operator' } as const
  await store.changeOwnDomain('dom_off.own.test', off)
  const missing = { reason: 'record_missing', missingSince: now } as const
  await store.changeOwnDomain(`dom_${LONG}.own.test`, missing)
}

/** One that works, one that fails and one that was disabled; nothing is delivered to them. */
async function addWebhooks({ shop }: KeyRing, key: TestKey, now: Date): Promise<void> {
  const lastId = Number.MAX_SAFE_INTEGER - 1
  const failed = { failures: 3, failingSince: new Date(now.getTime() - HOUR_MS) }
  const results = {
    working: undefined,
    failing: { ...failed, retryAt: new Date(now.getTime() + HOUR_MS), disabled: undefined },
    disabled: { ...failed, retryAt: undefined, disabled: 'gone' },
  } as const
  for (const [name, result] of Object.entries(results)) {
    const id = `wh_${name}`
    const url = `https://hooks.example/${name}?path=${LONG}${LONG}`
    const none = { from: undefined, subject: undefined, createdAt: now, lastId }
    const to = 'someone@box.test' as Address
    await shop.addWebhook({ id, keyId: key.id, url, to, ...none })
    const webhook = await shop.readWebhook(id, now)
    if (!result || !webhook) continue
    const messageId = lastId + 1
    await shop.chargeMessage(webhook, messageId, now)
    const attempt = { attempt: 3, status: 503, error: null, ms: 84, at: now }
    const pending = { webhookId: id, url, messageId, replay: 0, dueAt: undefined }
    await shop.recordAttempt({ ...pending, ...attempt, failed: result })
  }
}

/** Open, pending, and paid in a currency without cents. */
async function addOrders({ url, now }: App, { shop }: KeyRing): Promise<void> {
  await createOrder(url, { plan: 'business', email: 'buyer@shop.test' })
  await payOrder(url, await createOrder(url), 'later')
  const [plan] = PLANS
  const id = 'ord_yen'
  if (!plan) throw new Error('no plan')
  const { revision } = await shop.addOrder({
    id,
    provider: 'fake',
    mode: 'test',
    plan: { ...plan, name: MARKUP, priceCents: 500, currency: 'jpy' },
    email: `${LONG}@shop.test`,
    createdAt: now(),
    keyId: 'key_yen',
    keyPrefix: 'mf_test_yenn',
    claimHash: 'claim of the yen',
    idempotencyHash: undefined,
  })
  const payment = { ref: 'p', paidAt: now(), refunded: 'no', disputed: 'no' } as const
  const facts = { state: 'paid', renewal: 'none', subscriptionRef: undefined } as const
  const settlement = settle(plan, { ...facts, payments: [payment] })
  await shop.applySettlement({ orderId: id, revision, settlement, event: undefined, now: now() })
}
