import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { test, vi } from 'vitest'
import { mailMany, opener, openInbox, row, untilSubjects } from './inbox-steps.ts'
import { visitor } from './visit.ts'

const { house, visit, expect } = visitor()

/** A mailbox with two mails of which one is deleted; then another address takes its place. */
async function deleteAndLeave(page: Page) {
  const first = await openInbox(page)
  await mailMany(house(), first.email, 2)
  await opener(page, 'Mail 1').focus()
  await page.keyboard.press('#')
  await row(page, 'Mail 1').waitFor({ state: 'detached' })
  return first
}

async function newAddress(page: Page): Promise<void> {
  await page.keyboard.press('n')
  await page.getByText('Waiting for mail').waitFor()
}

async function backTo(page: Page, email: string): Promise<void> {
  await page.locator('.switcher summary').click()
  await page.getByTitle(`Show ${email}`).click()
  await row(page, 'Mail 2').waitFor()
}

test('what was deleted stays away when its address is left and shown again', async () => {
  const page = await visit('/')
  await page.clock.install()
  const { email, token } = await deleteAndLeave(page)
  await newAddress(page)
  await backTo(page, email)
  assert.equal(await page.locator('.mail').count(), 1)
  await page.clock.runFor(9_000)
  await untilSubjects(house(), token, ['Mail 2'])
})

test('what could not be deleted is tried again in its own mailbox', async () => {
  expect({ complaint: /ERR_FAILED/ })
  const page = await visit('/')
  await page.clock.install()
  await page.route('**/api/delete-mail', (route) => route.abort())
  const { token } = await deleteAndLeave(page)
  const again = page.getByRole('button', { name: 'Try now' })
  await vi.waitUntil(
    async () => {
      await page.clock.runFor(10_000)
      return await again.isVisible()
    },
    { timeout: 60_000 },
  )
  await newAddress(page)
  await page.unroute('**/api/delete-mail')
  await again.click()
  await untilSubjects(house(), token, ['Mail 2'])
})
