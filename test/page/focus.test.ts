import type { Page } from 'playwright-core'
import { test } from 'vitest'
import { mailMany, opener, row, waitForInbox } from '../kit/page/inbox.ts'
import { openPages } from '../kit/page/pages.ts'

const { app, visit } = openPages()

const WAYS_TO_CLOSE = [
  (page: Page) => page.keyboard.press('Escape'),
  (page: Page) => page.getByRole('button', { name: 'Close' }).click(),
]

test('the focus returns to the button or row that it left for a dialog, and undo leaves it in the list', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await mailMany(app(), email, 1)
  for (const close of WAYS_TO_CLOSE) {
    await page.getByRole('button', { name: 'Open on a phone' }).focus()
    await page.keyboard.press('Enter')
    // Not on the close button.
    await page.getByRole('dialog').locator('h2:focus').waitFor()
    await close(page)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.locator('button:focus', { hasText: 'Open on a phone' }).waitFor()
  }

  await opener(page, 'Mail 1').focus()
  await page.keyboard.press('?')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.locator('[id^=mail-]:focus').waitFor()

  await page.keyboard.press('#')
  await page.getByRole('button', { name: 'Undo' }).focus()
  await page.keyboard.press('Enter')
  await row(page, 'Mail 1').waitFor()
  await page.locator('#messages:focus').waitFor()
})
