import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import {
  mailConcurrently,
  mailMany,
  storedMailboxes,
  storeMailboxes,
  waitForInbox,
} from '../kit/page/inbox.ts'
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

const press = async (page: Page, name: string) =>
  await page.getByRole('button', { name, exact: true }).click()

test('a hundred addresses fill the list, with a notice; then one must be ended before another is created', async () => {
  const page = await visit('/favicon.svg')
  const sessions = await Promise.all(Array.from({ length: 100 }, () => app().session()))
  await storeMailboxes(page, sessions)
  await page.goto(`${app().url}/`)
  await waitForInbox(page)
  const requested: string[] = []
  page.on('request', (request) => requested.push(new URL(request.url()).pathname))
  await press(page, 'New address')
  const alert = page.getByRole('alert').filter({ hasText: 'You already have 100 active addresses' })
  await alert.waitFor()
  expect(requested.filter((path) => path === '/api/create-session')).toStrictEqual([])
  expect((await storedMailboxes(page)).length).toBe(100)

  await alert.getByRole('button', { name: 'Show my addresses' }).click()
  await expect.poll(() => page.evaluate('document.activeElement.localName')).toBe('summary')
  await press(page, `Delete ${sessions[1]?.email}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await alert.waitFor({ state: 'detached' })
  const before = await page.locator('#address').innerText()
  await press(page, 'New address')
  await page.locator('#address').filter({ hasNotText: before }).waitFor()
  await expect.poll(async () => (await storedMailboxes(page)).length).toBe(100)
  const stored = (await storedMailboxes(page)).map(({ email }) => email)
  expect(stored).toContain(sessions.at(-1)?.email)
})
