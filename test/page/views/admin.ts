import type { Page } from 'playwright-core'
import { openMailStoreForCli } from '../../../src/runtime/stores.ts'
import type { App } from '../../support/app.ts'
import type { View } from '../views.ts'

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

const MX = 'box.test. 3600 IN MX 10 mail.box.test.'

/** An hour of traffic, and a run of the daily checks. */
async function recordTraffic({ config, now }: App): Promise<void> {
  const store = await openMailStoreForCli(config)
  const minute = Math.floor(now().getTime() / 60_000) * 60_000
  for (let ago = 1; ago <= 50; ago += 1) {
    const wave = Math.round(20 + 15 * Math.sin(ago / 6))
    await store.saveMinute({
      at: new Date(minute - ago * 60_000),
      node: 'earlier',
      counts: {
        mails: { stored: wave, refused: ago % 7, full: ago % 23 === 0 ? 3 : 0 },
        sessions: { '': 400 + wave },
        stored_bytes: { '': 3e9 - ago * 1e7 },
        latency: { '0.005': 40, '0.025': wave, '0.1': ago % 4 },
      },
    })
  }
  const since = now()
  await store.saveCheckRun({
    finishedAt: since,
    checks: [
      { name: 'mx', subject: 'box.test', status: 'failure', seen: 'no MX record', fix: MX, since },
      { name: 'clock', status: 'ok', seen: 'synchronized', fix: '', since },
    ],
  })
  await store.close()
}

const view = (name: string, link: string, open?: View['open']): View => ({
  name,
  continues: true,
  async open(stage) {
    await openView(stage.page, link)
    await open?.(stage)
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
    async open({ page, app }) {
      await app.mail(
        'abuse@box.test',
        'From: Ann <ann@sender.test>\r\nSubject: Spam\r\n\r\nHi.\r\n',
      )
      await app.mail('postmaster@box.test', 'Subject: Hello\r\n\r\nHi.\r\n')
      await app.session()
      await recordTraffic(app)
      await signIn(page)
      await page.getByText('Stored messages').waitFor()
      await page.getByText('Loading…').first().waitFor({ state: 'detached' })
    },
  },
  view('admin-domains', 'Domains'),
  {
    name: 'admin-domain',
    within: 'dialog',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Change box.test' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'admin-sessions',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Close' }).click()
      await openView(page, 'Sessions')
    },
  },
  view('admin-mail', 'Operator mail'),
  {
    name: 'admin-message',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Read: Spam' }).first().click()
      await page.getByRole('button', { name: 'Back to the list' }).waitFor()
      await page.locator('.admin-mail').waitFor()
    },
  },
  view('admin-blocks', 'Block list', async ({ page }) => {
    await page.getByLabel('Domain, address').first().fill('spam.example')
    await page.getByLabel('Note').fill('Report 17')
    await page.getByRole('button', { name: 'Block', exact: true }).click()
    await page.getByRole('button', { name: 'Remove: spam.example' }).waitFor()
  }),
  view('admin-keys', 'Keys', async ({ page, ring }) => {
    await ring.issue({ perDay: 100 })
    await page.getByRole('button', { name: 'Find' }).click()
  }),
  view('admin-orders', 'Orders'),
  view('admin-accounts', 'Gmail accounts'),
  view('admin-webhooks', 'Webhooks'),
  view('admin-checks', 'Checks'),
]
