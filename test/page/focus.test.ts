import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { describe, test } from 'vitest'
import { mailMany, opener, row, waitForInbox } from './support/inbox.ts'
import { openPages } from './support/pages.ts'

const { app, visit } = openPages()
const focused = (page: Page) =>
  page.evaluate(`{
    const { id, tagName, textContent } = document.activeElement
    id || (tagName === 'BODY' ? tagName : textContent)
  }`) as Promise<string>

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
      await page.getByRole('dialog').waitFor()
      await close(page)
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      assert.match(await focused(page), /Open on a phone/)
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
    assert.match(await focused(page), /^mail-/)
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
  assert.equal(await focused(page), 'messages')
})
