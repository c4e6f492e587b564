import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import {
  mailMany,
  opener,
  plainMail,
  row,
  storedMailboxes,
  storeMailboxes,
  waitForInbox,
  waitForSubjects,
} from '../kit/page/inbox.ts'
import { openPages } from '../kit/page/pages.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit, visitWithClock, newTab, allow } = openPages()

const address = (page: Page) => page.locator('#address')
const press = async (page: Page, name: string) =>
  await page.getByRole('button', { name, exact: true }).click()

/** A mailbox with two mails, one of them deleted; then another address replaces it. */
async function deleteAndLeave(page: Page) {
  const first = await waitForInbox(page)
  await mailMany(app(), first.email, 2)
  await row(page, 'Mail 2').waitFor()
  await opener(page, 'Mail 1').focus()
  await page.keyboard.press('#')
  await row(page, 'Mail 1').waitFor({ state: 'detached' })
  return first
}

async function newAddress(page: Page): Promise<void> {
  const before = await address(page).innerText()
  await page.keyboard.press('n')
  await waitUntil(async () => (await address(page).innerText()) !== before)
  await page.getByText('Waiting for mail').waitFor()
}

async function selectAddress(page: Page, email: string): Promise<void> {
  await page.locator('.switcher summary').click()
  await page.getByTitle(`Show ${email}`).click()
  await row(page, 'Mail 2').waitFor()
}

test('a deleted message does not reappear when its address is left and selected again', async () => {
  const page = await visitWithClock('/')
  const { email, token } = await deleteAndLeave(page)
  await newAddress(page)
  await selectAddress(page, email)
  expect(await page.locator('.mail').count()).toBe(1)
  await page.clock.runFor(9_000)
  await waitForSubjects(app(), token, ['Mail 2'])
})

test('the list of mailboxes that version 0.1 stored is migrated once, in its order', async () => {
  const page = await visit('/favicon.svg')
  const sessions = await Promise.all(Array.from({ length: 3 }, () => app().session()))
  const expires = new Date(Date.now() + 86_400_000)
  const list = sessions.map(({ email, token }) => ({ email, token, expires }))
  await page.evaluate(
    (text) => localStorage.setItem('mayfly mailboxes', text),
    JSON.stringify(list),
  )
  await page.goto(`${app().url}/`)
  await waitForInbox(page)
  await expect.poll(() => address(page).innerText()).toBe(sessions[0]?.email)
  await expect
    .poll(async () => (await storedMailboxes(page)).map(({ email, token }) => ({ email, token })))
    .toStrictEqual(sessions.map(({ email, token }) => ({ email, token })))
  await expect.poll(() => page.evaluate(() => localStorage.getItem('mayfly mailboxes'))).toBe(null)
})

test('a failed deletion is retried in its own mailbox', async () => {
  allow({ complaint: /ERR_FAILED/ })
  const page = await visitWithClock('/')
  await page.route('**/api/delete-mail', (route) => route.abort())
  const { token } = await deleteAndLeave(page)
  const again = page.getByRole('button', { name: 'Try now' })
  await waitUntil(async () => {
    await page.clock.runFor(10_000)
    return await again.isVisible()
  })
  await newAddress(page)
  await page.unroute('**/api/delete-mail')
  await again.click()
  await waitForSubjects(app(), token, ['Mail 2'])
})

test('mail of an address that is not shown appears at once: in a toast, in the title, beside the address and in the list of all; opening it shows its address, for which its sender is proposed as a label', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await newAddress(page)
  const second = await address(page).innerText()
  await app().mail(email, plainMail({ subject: 'Welcome', from: 'GitHub <hi@github.test>' }))
  const toast = page.locator('.toast', { hasText: `New message at ${email}, from GitHub` })
  await toast.waitFor()
  await expect.poll(() => page.title()).toBe(`(1) ${email} – Mayfly`)
  await page.locator('.switcher summary').getByText('1 unread').waitFor()
  await expect.poll(() => address(page).innerText()).toBe(second)

  await press(page, 'All addresses')
  await row(page, 'Welcome').getByText(email).waitFor()
  await toast.getByRole('button', { name: 'Open' }).click()
  await page.getByRole('heading', { name: 'Welcome' }).waitFor()
  await expect.poll(() => address(page).innerText()).toBe(email)
  await page.locator('.mail.open', { hasText: 'Welcome' }).waitFor()
  // Once it is displayed, it is read.
  await waitUntil(async () => (await page.title()) === 'Mayfly – disposable email, no sign-up')

  await page.keyboard.press('Escape')
  await press(page, 'Label it “GitHub”')
  await page.locator('.address-settings', { hasText: 'GitHub' }).waitFor()
  await app().mail(second, plainMail({ subject: 'For the second' }))
  await opener(page, 'For the second').click()
  await page.getByRole('heading', { name: 'For the second' }).waitFor()
  await row(page, 'Welcome').getByText('GitHub', { exact: true }).last().waitFor()
  await press(page, 'All addresses')
  await row(page, 'Welcome').waitFor({ state: 'detached' })
  expect(await page.locator('.mail').count()).toBe(1)

  // The row that had the focus in the list of one address is not the current one of all.
  await page.keyboard.press('Escape')
  await opener(page, 'For the second').focus()
  await press(page, 'All addresses')
  await row(page, 'Welcome').waitFor()
  await page.keyboard.press('#')
  expect(await row(page, 'For the second').count()).toBe(1)
})

test('the messages of all addresses are searched, selected and deleted like those of one, and opening one of them keeps the search', async () => {
  const page = await visit('/favicon.svg')
  const [first, second] = [await app().session(), await app().session()]
  await storeMailboxes(page, [first, second])
  const text = `${'A long beginning. '.repeat(20)}Needle.`
  await app().mail(first.email, plainMail({ subject: 'Receipt 1' }))
  await app().mail(second.email, plainMail({ subject: 'Receipt 2' }))
  await app().mail(second.email, plainMail({ subject: 'Letter', text }))
  await page.goto(`${app().url}/`)
  await waitForInbox(page)
  await press(page, 'All addresses')
  for (const subject of ['Receipt 1', 'Receipt 2', 'Letter']) await row(page, subject).waitFor()
  expect(await page.locator('.tools .danger').isDisabled(), 'not everything at once').toBe(true)

  const search = page.getByRole('searchbox')
  await search.fill('needle')
  await row(page, 'Letter').waitFor()
  await row(page, 'Receipt 1').waitFor({ state: 'detached' })
  await search.fill('receipt')
  await row(page, 'Letter').waitFor({ state: 'detached' })
  // Received in the same second, they may be in either order.
  const found = await page.locator('.mail-subject').allInnerTexts()
  const owners = { 'Receipt 1': first.email, 'Receipt 2': second.email }
  await page.locator('.mail-open').first().click()
  for (const subject of found) {
    await page.getByRole('heading', { name: subject }).waitFor()
    const owner = owners[subject as keyof typeof owners]
    await expect.poll(() => address(page).innerText()).toBe(owner)
    await expect.poll(() => page.locator('.mail').count()).toBe(2)
    await page.keyboard.press('j')
  }
  await page.keyboard.press('Escape')

  await page.getByRole('checkbox', { name: 'Select all' }).check()
  await page.getByText('2 selected').waitFor()
  await press(page, 'Delete')
  await page.getByText('No messages match your search.').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await row(page, 'Receipt 1').waitFor()
  await search.fill('')
  await page.getByRole('checkbox', { name: 'Select “Receipt 1”' }).check()
  await page.getByRole('checkbox', { name: 'Select “Letter”' }).check()
  await page.keyboard.press('#')
  await row(page, 'Letter').waitFor({ state: 'detached' })
  await opener(page, 'Receipt 2').focus()
  await page.goto(`${app().url}/favicon.svg`)
  await waitForSubjects(app(), first.token, [])
  await waitForSubjects(app(), second.token, ['Receipt 2'])
})

const NEW = 12

test('many addresses are all stored, however many tabs create them at once', async () => {
  const page = await visit('/')
  await waitForInbox(page)
  const other = await newTab(page, '/')
  await waitForInbox(other)
  const made: string[] = []
  page.context().on('response', async (response) => {
    if (!response.url().endsWith('/api/create-session')) return
    const { email } = (await response.json()) as { email: string }
    made.push(email)
  })
  await Promise.all(
    [page, other].map(async (tab) => {
      for (let count = 0; count < NEW / 2; count += 1) {
        const before = await address(tab).innerText()
        await tab.keyboard.press('n')
        await address(tab).filter({ hasNotText: before }).waitFor()
      }
    }),
  )
  await waitUntil(() => made.length === NEW)
  const lost = async () => {
    const stored = (await storedMailboxes(page)).map(({ email }) => email)
    return made.filter((email) => !stored.includes(email))
  }
  await expect.poll(lost).toStrictEqual([])
  for (const tab of [page, other]) await tab.getByText(`${NEW} more addresses`).waitFor()
  await page.reload()
  await page.getByText(`${NEW} more addresses`).waitFor()
})
