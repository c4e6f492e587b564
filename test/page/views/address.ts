import { waitForInbox } from '../support/inbox.ts'
import type { View, ViewContext } from '../views.ts'

/** The inbox with its address, after a button of the toolbar is pressed. */
async function press({ page, app }: ViewContext, name: string): Promise<void> {
  await page.goto(app.url)
  await waitForInbox(page)
  await page.getByRole('button', { name, exact: true }).click()
}

export const addressViews: readonly View[] = [
  {
    name: 'address-own',
    within: 'dialog',
    async open(stage) {
      await press(stage, 'Choose a name')
      const dialog = stage.page.getByRole('dialog')
      await dialog.getByLabel('Domain').filter({ hasText: '@box.test' }).waitFor()
      await dialog.getByLabel('Name').fill('calm..river')
      await dialog.getByText('No two dots, hyphens or underscores in a row').waitFor()
    },
  },
  {
    name: 'address-phone',
    within: 'dialog',
    async open(stage) {
      await press(stage, 'Open on a phone')
      await stage.page.locator('svg.qr path[d^=M]').waitFor()
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
    name: 'address-end',
    within: 'dialog',
    async open(stage) {
      await press(stage, 'Delete address')
      await stage.page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'address-others',
    within: '.address',
    async open(stage) {
      await press(stage, 'New address')
      await stage.page.getByText('1 more address').click()
      await stage.page.getByRole('button', { name: /^Delete .*@/ }).waitFor()
    },
  },
  {
    name: 'address-list-full',
    within: '.address',
    async open(stage) {
      const { page, app } = stage
      await page.goto(`${app.url}/favicon.svg`)
      const expires = new Date(Date.now() + 86_400_000)
      const list = Array.from({ length: 99 }, (_, index) => ({
        email: `calm.river${10_000_000 + index}@box.test`,
        token: `token-${index}`,
        expires,
      }))
      const { email, token } = await app.session()
      const text = JSON.stringify(JSON.stringify([{ email, token, expires }, ...list]))
      await page.evaluate(`localStorage.setItem('mayfly mailboxes', ${text})`)
      await press(stage, 'New address')
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
  {
    name: 'address-privacy',
    within: '.privacy',
    async open({ page, app }) {
      await page.goto(app.url)
      await waitForInbox(page)
      await page.getByText('Privacy and retention').click()
    },
  },
]
