import type { Page } from 'playwright-core'
import { openMenu, plainMail, storeMailboxes, waitForInbox } from '../inbox.ts'
import type { View } from '../views.ts'

const press = async (page: Page, name: string) =>
  await page.getByRole('button', { name, exact: true }).click()

/** Presses a button of the toolbar, after the dialog before is closed. */
async function pressNext(page: Page, ...names: string[]): Promise<void> {
  await press(page, 'Close')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  for (const name of names) await press(page, name)
}

const openMore = (page: Page) => openMenu(page, '.address-more')

export const addressViews: readonly View[] = [
  {
    name: 'address-more',
    screenshotOnly: true,
    async open({ page, app }) {
      await page.goto(app.url)
      await waitForInbox(page)
      await openMore(page)
    },
    resized: openMore,
  },
  {
    name: 'address-own',
    isMain: true,
    within: 'dialog',
    async open({ page, app }) {
      await page.goto(app.url)
      await waitForInbox(page)
      await press(page, 'Choose a name')
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Domain').filter({ hasText: '@box.test' }).waitFor()
      await dialog.getByLabel('Name').fill('calm..river')
      await dialog.getByText('No two dots, hyphens or underscores in a row').waitFor()
    },
  },
  {
    name: 'address-phone',
    within: 'dialog',
    continues: true,
    async open({ page }) {
      await pressNext(page, 'More', 'Open on a phone')
      await page.locator('svg.qr path[d^=M]').waitFor()
    },
  },
  {
    name: 'address-end',
    within: 'dialog',
    continues: true,
    async open({ page }) {
      await pressNext(page, 'More', 'Delete address')
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'address-others',
    within: '.address',
    continues: true,
    async open({ page }) {
      await pressNext(page, 'New address')
      await page.getByText('1 more address').click()
      await page.getByRole('button', { name: /^Delete .*@/ }).waitFor()
    },
  },
  {
    name: 'address-privacy',
    within: '.privacy',
    continues: true,
    async open({ page }) {
      await page.getByText('Privacy and retention').click()
    },
  },
  {
    name: 'address-rules',
    within: '.address',
    async open({ page, app }) {
      const rules = { only_from: 'github.test, shop.test', max_messages: '10' }
      const ruled = await app.session({ ...rules, label: 'Netflix trial' })
      await app.mail(ruled.email, plainMail({ from: 'eve@other.test' }))
      await page.goto(`${app.url}/favicon.svg`)
      await storeMailboxes(page, [ruled, await app.session({ label: 'Newsletter' })])
      await page.goto(app.url)
      await page.getByText('1 message rejected').waitFor()
    },
  },
  {
    name: 'address-settings',
    within: 'dialog',
    continues: true,
    async open({ page }) {
      await press(page, 'Edit')
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'address-handed',
    within: 'dialog',
    async open({ page, app }) {
      const { token } = await app.session()
      await page.goto(`${app.url}/#open=${token}`)
      await page.getByRole('dialog', { name: 'Open this address here?' }).waitFor()
    },
  },
  {
    name: 'address-list-full',
    within: '.address',
    async open({ page, app }) {
      await page.goto(`${app.url}/favicon.svg`)
      const sessions = await Promise.all(Array.from({ length: 100 }, () => app.session()))
      await storeMailboxes(page, sessions)
      await page.goto(app.url)
      await waitForInbox(page)
      await press(page, 'New address')
      await page.getByText('You already have').waitFor()
    },
  },
  {
    name: 'address-trouble',
    complaint: /ERR_FAILED/,
    async open({ page, app }) {
      await page.route('**/api/create-session', (route) => route.abort())
      await page.goto(app.url)
      await page.getByText('Retrying in').waitFor()
    },
  },
]
