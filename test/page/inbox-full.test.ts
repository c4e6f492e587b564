import { expect, test } from 'vitest'
import { mailConcurrently, mailMany, storeMailboxes, waitForInbox } from '../kit/page/inbox.ts'
import { openPages } from '../kit/page/pages.ts'

const { app, visit } = openPages({ MAYFLY_SESSION_MAX_MESSAGES: '520' })

test('500 messages are listed, older ones are mentioned, and a full mailbox is reported', async () => {
  const session = await app().session()
  await mailConcurrently(app(), session.email, 519)
  const page = await visit('/favicon.svg')
  await page.clock.install()
  await storeMailboxes(page, [session, await app().session()])
  await page.goto(app().url)
  await page.getByText('Showing the newest 500 messages.').waitFor()
  // Rendered in steps, but all of them.
  await page.locator('.mail').nth(499).waitFor({ state: 'attached' })
  await expect.poll(() => page.locator('.mail').count()).toBe(500)
  expect(await page.getByText('Mailbox full').count()).toBe(0)

  await waitForInbox(page)
  await mailMany(app(), session.email, 1)
  await page.locator('.mail').nth(500).waitFor({ state: 'attached' })
  // Whether the mailbox is full is in the list only, which is requested some seconds after new mail.
  await page.clock.fastForward(5_000)
  await page.getByText('Mailbox full').waitFor()
  await expect.poll(() => page.locator('.mail').count()).toBe(500)
  const all = page.getByRole('button', { name: 'All addresses' })
  await all.click()
  await page.getByText('Mailbox full').waitFor({ state: 'detached' })
  await page.getByText('Showing the newest 500 messages.').waitFor()
  await all.click()
  await page.getByText('Mailbox full').waitFor()
  await expect.poll(() => page.locator('.mail').count()).toBe(500)
  await page.locator('.mail-open').nth(400).click()
  await page.getByRole('heading', { name: /^Mail \d+$/ }).waitFor()
  await page.keyboard.press('#')
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).waitFor()
})
