import type { Page } from 'playwright-core'
import type { View } from '../views.ts'
import { MARKUP, seed } from './admin-seed.ts'

export const ADMIN_TOKEN = 'the-admin-token'
export const ADMIN_ENV = { MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN }

export async function signIn(page: Page, token = ADMIN_TOKEN): Promise<void> {
  await page.getByLabel('Admin token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Opens a view by its link, and waits until it is loaded. */
export async function openView(page: Page, name: string): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Views' })
    .getByRole('link', { name, exact: true })
    .click()
  await page.getByRole('heading', { name, exact: true, level: 2 }).waitFor()
  await page.getByText('Loading…').first().waitFor({ state: 'detached' })
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
    isMain: true,
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
  view('admin-own-domains', 'Key domains'),
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
  view('admin-mail-log', 'Mail log', async ({ page }) => {
    await page.getByText('mi3t6c2v0k9x').waitFor()
  }),
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
