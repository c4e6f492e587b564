import type { Page } from 'playwright-core'
import { describe, test } from 'vitest'
import { mailMany, opener, row, waitForInbox } from './support/inbox.ts'
import { openPages } from './support/pages.ts'

const { app, visit } = openPages()

describe('the focus returns to where it was', () => {
  for (const [way, close] of [
    ['Escape', (page: Page) => page.keyboard.press('Escape')],
    ['the close button', (page: Page) => page.getByRole('button', { name: 'Close' }).click()],
  ] as const) {
    test(`when a dialog is closed by ${way}`, async () => {
      const page = await visit('/')
      await waitForInbox(page)
      await page.getByRole('button', { name: 'Open on a phone' }).focus()
      await page.keyboard.press('Enter')
      // Not on the close button.
      await page.getByRole('dialog').locator('h2:focus').waitFor()
      await close(page)
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.locator('button:focus', { hasText: 'Open on a phone' }).waitFor()
    })
  }

  test('when the help was opened from a row', async () => {
    const page = await visit('/')
    const { email } = await waitForInbox(page)
    await mailMany(app(), email, 1)
    await opener(page, 'Mail 1').focus()
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.locator('[id^=mail-]:focus').waitFor()
  })
})

test('undo leaves the focus in the list', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await mailMany(app(), email, 1)
  await opener(page, 'Mail 1').focus()
  await page.keyboard.press('#')
  await page.getByRole('button', { name: 'Undo' }).focus()
  await page.keyboard.press('Enter')
  await row(page, 'Mail 1').waitFor()
  await page.locator('#messages:focus').waitFor()
})
