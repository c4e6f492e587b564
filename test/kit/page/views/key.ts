import type { Page } from 'playwright-core'
import { request } from '../../http/http-client.ts'
import type { TestKey } from '../../shop/keys.ts'
import type { View, ViewContext } from '../views.ts'

export const OWN_DOMAINS = { MAYFLY_OWN_DOMAINS: 'keys' }

export const keyViews: readonly View[] = [
  {
    name: 'key-form',
    async open({ page, app }) {
      await page.goto(`${app.url}/key`)
      await page.getByLabel('Your key').waitFor()
    },
  },
  {
    name: 'key-wrong',
    complaint: /401/,
    continues: true,
    async open({ page }) {
      await enterKey(page, 'mf_live_nothing')
      await page.getByText('Unknown or revoked key').waitFor()
    },
  },
  {
    name: 'key-usage',
    isMain: true,
    continues: true,
    async open(stage) {
      const key = await stage.ring.issue({ requests: 2_000, perDay: 100, months: 12 })
      await makeRequests(stage, key, 14)
      await enterKey(stage.page, key.secret)
      await stage.page.getByText('Last 30 days').waitFor()
    },
  },
  {
    name: 'key-domains',
    within: 'section:has(> .key-top > #domains)',
    continues: true,
    async open({ page }) {
      const list = { status: 'success', domains: DOMAINS, limit: 20 }
      await page.route('**/domains', (route) => route.fulfill({ json: list }))
      await page.route('**/sessions?*', (route) => route.fulfill({ json: ADDRESSES }))
      await page.route('**/usage', async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, json: { ...(await response.json()), warnings: WARNINGS } })
      })
      await page.reload()
      const all = page.locator('.key-entry:has(.records)')
      await all.first().waitFor()
      for (const one of await all.all()) {
        if ((await one.getAttribute('open')) === null) await one.locator('> summary').click()
      }
      await page.getByText('Permanent addresses').waitFor()
    },
  },
  {
    name: 'key-addresses',
    within: 'section:has(> #addresses)',
    continues: true,
    async open({ page }) {
      const made = { email: 'shop@mail.acme.example', token: 'dG9rZW4'.repeat(6) }
      await page.route('**/create-session', (route) => route.fulfill({ json: made }))
      const section = page.getByRole('region', { name: 'Permanent addresses' })
      await section.getByRole('button', { name: 'Create address' }).click()
      await section.getByText('is ready').waitFor()
      await page.route('**/roll-token', (route) => route.fulfill({ json: made }))
      await section.getByRole('button', { name: 'Roll token' }).nth(1).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Roll token' }).click()
      await section.getByText('new token').waitFor()
    },
  },
  {
    name: 'key-domain-error',
    within: '.key-form',
    complaint: /40\d/,
    continues: true,
    async open({ page }) {
      await page.unroute('**/domains')
      await page.getByPlaceholder('mail.example.com').fill('127.0.0.1')
      await page.getByRole('button', { name: 'Add domain' }).click()
      await page.getByText('Enter a domain name of your own').waitFor()
    },
  },
  {
    name: 'key-domain-delete',
    continues: true,
    screenshotOnly: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Delete domain' }).first().click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'key-webhooks',
    within: 'section:has(> #webhooks)',
    continues: true,
    async open({ page }) {
      await page.route('**/webhooks', (route) => route.fulfill({ json: { webhooks: WEBHOOKS } }))
      await page.route('**/webhooks/*/deliveries', (route) =>
        route.fulfill({ json: { deliveries: DELIVERIES } }),
      )
      const delivery = { status: 200, error: null, ms: 84 }
      await page.route('**/webhooks/*/test', (route) => route.fulfill({ json: { delivery } }))
      await page.reload()
      const all = page.locator('section:has(> #webhooks) .key-entry')
      await all.first().waitFor()
      for (const one of await all.all()) await one.locator('> summary').click()
      await all.first().getByRole('button', { name: 'Send a test' }).click()
      await all.first().getByText('Deliveries').click()
      await page.getByRole('columnheader', { name: 'Result' }).waitFor()
    },
  },
  {
    name: 'key-webhook-secret',
    continues: true,
    screenshotOnly: true,
    async open({ page }) {
      const secret = `whsec_${'c2VjcmV0'.repeat(5)}`
      await page.route('**/webhooks/*/roll-secret', (route) => route.fulfill({ json: { secret } }))
      const first = page.locator('section:has(> #webhooks) .key-entry').first()
      await first.getByRole('button', { name: 'Roll secret' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Roll secret' }).click()
      await first.locator('.secret-sample').waitFor()
    },
  },
  {
    name: 'key-webhook-delete',
    continues: true,
    screenshotOnly: true,
    async open({ page }) {
      const first = page.locator('section:has(> #webhooks) .key-entry').first()
      await first.getByRole('button', { name: 'Delete webhook' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'key-table',
    continues: true,
    async open({ page }) {
      await page.unrouteAll()
      await page.keyboard.press('Escape')
      await page.getByText('Show as table').click()
      await page.getByRole('columnheader', { name: 'Requests' }).waitFor()
    },
  },
  {
    name: 'key-roll',
    within: 'dialog',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Roll this key' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'key-rolled',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Roll key' }).click()
      await page.getByText('The old key works until').waitFor()
    },
  },
  {
    name: 'key-used-up',
    continues: true,
    async open(stage) {
      const key = await stage.ring.issue({ requests: 2 })
      await makeRequests(stage, key, 2)
      await stage.page.getByRole('button', { name: 'Forget this key' }).click()
      await enterKey(stage.page, key.secret)
      await stage.page.getByText('All requests in this plan have been used').waitFor()
    },
  },
]

const at = (minute: number) => ({
  attempted_at: `2026-03-01 12:${minute}:00`,
  attempted_at_iso: `2026-03-01T12:${minute}:00Z`,
})
const DELIVERIES = [
  { message_id: 3, attempt: 1, status: 200, error: null, ms: 61, ...at(41) },
  { message_id: 2, attempt: 2, status: 200, error: null, ms: 75, ...at(23) },
  { message_id: 2, attempt: 1, status: null, error: 'connection refused', ms: 3, ...at(18) },
]

const LONG_NAME = `${'very-long-name-of-a-department.'.repeat(3)}acme.example`
const [EARLIER, LATER] = ['2026-02-26T06:00:00Z', '2026-03-05T06:00:00Z']

const domain = (name: string, fields: object = {}, unicode = name) => ({
  id: `dom_${unicode}`,
  domain: name,
  unicode,
  state: 'active',
  reason: null,
  catch_all: true,
  records: [
    {
      type: 'TXT',
      name: `_mayfly.${name}`,
      value: 'mayfly-verification=2uYc0Wn6mKp4Vf8Qe1Rj5tHa9zI',
    },
    { type: 'MX', name, value: '10 mail.mayfly.example' },
  ],
  verified_at_iso: '2026-02-01T09:30:00Z',
  checked_at_iso: '2026-03-01T06:00:00Z',
  missing_since_iso: null,
  suspends_at_iso: null,
  taken: 12_480,
  refused: 37,
  ...fields,
})
const PENDING = { state: 'pending', verified_at_iso: null, taken: 0, refused: 0 }
const MISSING = { reason: 'record_missing', missing_since_iso: EARLIER, suspends_at_iso: LATER }

/** One in each state. */
const DOMAINS = [
  domain('mail.acme.example'),
  domain('new.acme.example', PENDING),
  domain('lost.acme.example', { ...PENDING, reason: 'taken_over' }),
  domain('moved.acme.example', MISSING),
  domain('lapsing.acme.example', { reason: 'key_expired', suspends_at_iso: LATER }),
  domain('slow.acme.example', { reason: 'not_checked', catch_all: false }),
  domain('gone.acme.example', { ...MISSING, state: 'suspended', suspends_at_iso: null }),
  domain('bad.acme.example', { reason: 'suspended_by_operator', state: 'suspended' }),
  domain('xn--mnchen-3ya.example', PENDING, 'münchen.example'),
  domain(LONG_NAME, PENDING),
]

const WARNINGS = [
  { code: 'record_missing', domain: 'moved.acme.example', at: LATER, at_iso: LATER },
]

const ADDRESSES = {
  sessions: [
    { email: 'shop@mail.acme.example', label: 'Orders', messages: 1_204 },
    { email: 'a@mail.acme.example', label: null, messages: 1 },
    { email: `${'long.name.'.repeat(5)}end@${LONG_NAME}`, label: 'x'.repeat(100), messages: 0 },
  ],
  next_cursor: 'next',
}

const WEBHOOKS = [
  {
    id: 'wh_1',
    url: 'https://hooks.acme.example/incoming/mail?source=mayfly',
    to: null,
    state: 'active',
    reason: null,
    last_delivery_at_iso: '2026-03-01T12:41:00Z',
    next_attempt_at_iso: null,
    gap_since_iso: null,
    backlog: 0,
  },
  {
    id: 'wh_2',
    url: 'https://ci.acme.example/mayfly',
    to: 'release@pool.test',
    state: 'disabled',
    reason: 'The receiver has failed for 24 hours.',
    last_delivery_at_iso: '2026-02-27T08:05:00Z',
    next_attempt_at_iso: '2026-03-01T13:00:00Z',
    gap_since_iso: '2026-02-27T09:00:00Z',
    backlog: 1_250,
  },
]

export async function enterKey(page: Page, secret: string): Promise<void> {
  await page.getByLabel('Your key').fill(secret)
  await page.getByRole('button', { name: 'Show usage' }).click()
}

export async function makeRequests(
  { app }: Pick<ViewContext, 'app'>,
  { headers }: TestKey,
  count: number,
) {
  for (let done = 0; done < count; done += 1) {
    const { status, text } = await request(`${app.url}/emails`, { headers })
    if (status !== 200) throw new Error(`${status} ${text}`)
  }
}
