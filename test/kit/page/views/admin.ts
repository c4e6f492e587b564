import type { Page } from 'playwright-core'
import type { Address, Host } from '../../../../src/base/address.ts'
import { parseBlockEntry } from '../../../../src/blocks/rules.ts'
import { openMailStoreForCli } from '../../../../src/runtime/stores.ts'
import { PLANS } from '../../../../src/shared/plan.ts'
import { settle } from '../../../../src/shop/rules.ts'
import type { App } from '../../app/app.ts'
import type { KeyRing, TestKey } from '../../shop/keys.ts'
import { createOrder, payOrder } from '../../shop/shop-client.ts'
import type { View, ViewContext } from '../views.ts'

export const ADMIN_TOKEN = 'the-admin-token'
export const ADMIN_ENV = { MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN }

export async function signIn(page: Page, token = ADMIN_TOKEN): Promise<void> {
  await page.getByLabel('Admin token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Opens a view by its link, and waits until it is loaded. */
export async function openView(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click()
  await page.getByRole('heading', { name, exact: true, level: 2 }).waitFor()
  await page.getByText('Loading…').first().waitFor({ state: 'detached' })
}

// Names that strangers choose.
const MARKUP = '<img src=x onerror="alert(1)">'
const LONG = 'x'.repeat(60)
const HEBREW = 'שלום, מייל חדש'

type Store = Awaited<ReturnType<typeof openMailStoreForCli>>

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** One of each kind that the views show, with hostile names. */
async function seed({ app, ring }: Pick<ViewContext, 'app' | 'ring'>): Promise<void> {
  const store = await openMailStoreForCli(app.config)
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
  await store.close()
  for (const subject of [HEBREW, MARKUP, LONG.repeat(3), 'Spam']) {
    const head = `From: ${MARKUP.replaceAll(/[<>]/g, '')} <ann@sender.test>\r\nSubject: ${subject}`
    await app.mail('abuse@box.test', `${head}\r\n\r\nHi.\r\n${HEBREW}\r\n${LONG.repeat(4)}\r\n`)
  }
  const key = await ring.issue({ perDay: 100 })
  await ring.shop.labelKey(key.id, MARKUP)
  await ring.shop.labelKey((await ring.issue()).id, `${HEBREW} ${LONG}`)
  const revoked = await ring.issue()
  await ring.shop.revokeKey(revoked.id)
  await app.session({ prefix: LONG }, key.headers)
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

const FAULT = 'the disk is full'
const WARNING =
  'The clock was wrong by 3 hours: expired mail is not deleted before it is confirmed.'
const FAILING = {
  id: 7,
  email: 'm.mustermann.with.a.long.name@gmail.com',
  offered: true,
  hindrance: null,
  health: 'failing',
  reason: 'the server cannot be reached (ECONNREFUSED)',
  aliases: 12,
}

/** What the service of the tests cannot have: a full disk, and accounts that it fetches mail from. */
async function addFailures(page: Page): Promise<void> {
  await page.route('**/admin/api/overview*', async (route) => {
    const response = await route.fetch()
    await route.fulfill({
      response,
      json: { ...(await response.json()), fault: FAULT, warnings: [WARNING] },
    })
  })
  await page.route('**/admin/api/accounts*', async (route) => {
    const response = await route.fetch()
    const { accounts } = (await response.json()) as { accounts: object[] }
    const slow = { ...FAILING, id: 8, email: 'slow@gmail.com', health: 'slow' }
    const reason = 'daily limit of 2000 MB reached'
    const off = { ...FAILING, id: 9, email: 'off@gmail.com', offered: false, health: null }
    const all = [FAILING, { ...slow, reason }, { ...off, hindrance: 'deactivated' }, ...accounts]
    await route.fulfill({ response, json: { status: 'success', accounts: all } })
  })
}

const view = (name: string, link: string, open?: View['open']): View => ({
  name,
  continues: true,
  async open(stage) {
    await stage.page.keyboard.press('Escape')
    await openView(stage.page, link)
    await open?.(stage)
  },
})

/** Opened by a button of the view before it. */
const dialog = (name: string, button: string): View => ({
  name,
  within: 'dialog',
  continues: true,
  async open({ page }) {
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('dialog').waitFor()
  },
})

const plots = (name: string, range: string): View => ({
  name,
  within: '.admin-plot:first-child',
  continues: true,
  async open({ page }) {
    const response = page.waitForResponse('**/admin/api/overview*')
    await page.getByLabel(range).check()
    await response
    await page.locator('.admin-plots[aria-busy=false]').waitFor()
    const table = page.getByText('Show as table').first()
    if (!(await page.getByRole('table').isVisible())) await table.click()
    await page.getByRole('table').waitFor()
  },
})

export const adminViews: readonly View[] = [
  {
    name: 'admin-form',
    complaint: /401/,
    async open({ page, app }) {
      await page.goto(`${app.url}/admin`)
      await page.getByLabel('Admin token').waitFor()
    },
  },
  {
    name: 'admin-overview',
    continues: true,
    async open(stage) {
      await seed(stage)
      await addFailures(stage.page)
      await signIn(stage.page)
      await stage.page.getByText(FAULT).waitFor()
      await stage.page.getByText('Loading…').first().waitFor({ state: 'detached' })
    },
  },
  plots('admin-overview-day', '24 hours'),
  plots('admin-overview-month', '30 days'),
  view('admin-domains', 'Domains'),
  dialog('admin-domain', 'Change box.test'),
  dialog('admin-confirm', 'Remove: paused.test'),
  view('admin-sessions', 'Sessions'),
  view('admin-mail', 'Operator mail'),
  {
    name: 'admin-message',
    continues: true,
    async open({ page }) {
      await page.getByRole('link', { name: `Read: ${MARKUP}` }).click()
      await page.locator('.admin-mail').waitFor()
    },
  },
  view('admin-blocks', 'Block list', async ({ page }) => {
    await page.getByRole('button', { name: 'Show more' }).waitFor()
  }),
  dialog('admin-block', 'Block a sender'),
  view('admin-keys', 'Keys'),
  view('admin-orders', 'Orders'),
  view('admin-accounts', 'Gmail accounts'),
  view('admin-webhooks', 'Webhooks'),
  view('admin-checks', 'Checks'),
  {
    name: 'admin-checks-running',
    continues: true,
    screenshotOnly: true,
    async open({ page }) {
      await page.route('**/admin/api/checks/run', () => {})
      await page.route('**/admin/api/checks*', async (route) => {
        const response = await route.fetch()
        const json = { ...(await response.json()), running: { done: 17, all: 40 } }
        await route.fulfill({ response, json })
      })
      await page.getByRole('button', { name: 'Check now' }).click()
      await page.locator('progress[value="17"]').waitFor()
    },
  },
]
