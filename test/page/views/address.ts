import { openInbox } from '../inbox-steps.ts'
import type { Stage, View } from '../views.ts'

/** On the page, with its address; one button of the bar is pressed. */
async function press({ page, house }: Stage, name: string): Promise<void> {
  await page.goto(house.url)
  await openInbox(page)
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
      await dialog.getByText('No two signs in a row').waitFor()
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
    async open({ page, house }) {
      const { token } = await house.session()
      await page.goto(`${house.url}/#open=${token}`)
      await page.getByRole('dialog', { name: 'Open this address here?' }).waitFor()
    },
  },
  {
    name: 'address-end',
    within: 'dialog',
    async open(stage) {
      await press(stage, 'End it now')
      await stage.page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'address-others',
    within: '.address',
    async open(stage) {
      await press(stage, 'New address')
      await stage.page.getByText('1 more address').click()
      await stage.page.getByRole('button', { name: /^End .*@/ }).waitFor()
    },
  },
  {
    name: 'address-trouble',
    complaint: /ERR_FAILED/,
    async open({ page, house }) {
      await page.route('**/api/create-session', (route) => route.abort())
      await page.goto(house.url)
      await page.getByText('Trying again in').waitFor()
    },
  },
  {
    name: 'address-privacy',
    within: '.privacy',
    async open({ page, house }) {
      await page.goto(house.url)
      await openInbox(page)
      await page.getByText('What is kept, and for how long').click()
    },
  },
]
