import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import {
  mailboxOf,
  mailMany,
  plainMail,
  row,
  waitForInbox,
  waitForSubjects,
} from '../kit/page/inbox.ts'
import { openPages } from '../kit/page/pages.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit, visitWithClock } = openPages()
const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] }
const copied = (page: Page) => page.evaluate('navigator.clipboard.readText()')
const focused = (page: Page) =>
  page.evaluate('document.activeElement.textContent') as Promise<string>

test('every task can be done without a mouse', async () => {
  const page = await visitWithClock('/', CLIPBOARD)
  const { email, token } = await waitForInbox(page)
  await page.keyboard.press('c')
  await page.getByText('Copied').first().waitFor()
  await expect.poll(() => copied(page)).toBe(email)

  await app().mail(email, plainMail({ subject: 'Sign in', text: 'Your code is 731204.' }))
  await app().mail(email, plainMail({ subject: 'Welcome' }))
  await row(page, 'Welcome').waitFor()
  await row(page, '731204').waitFor()
  await page.keyboard.press('j')
  await expect.poll(() => focused(page)).toMatch(/Welcome/)
  await page.keyboard.press('j')
  await expect.poll(() => focused(page)).toMatch(/Sign in/)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.locator('.toast', { hasText: 'Code 731204 copied' }).waitFor()
  await expect.poll(() => copied(page)).toBe('731204')

  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.keyboard.press('#')
  await row(page, 'Sign in').waitFor({ state: 'detached' })
  await page.clock.runFor(9_000)
  await waitForSubjects(app(), token, ['Welcome'])
})

test('in the list the first tab stop skips to it, / searches, x selects, Delete deletes, z restores, r checks and n creates an address', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await mailMany(app(), email, 3)
  await row(page, 'Mail 3').waitFor()
  await page.keyboard.press('Tab')
  await expect.poll(() => focused(page)).toBe('Skip to messages')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('messages')

  // Letters typed in the search are not commands, and Esc leaves it.
  await page.keyboard.press('/')
  await page.keyboard.type('ann n # ?')
  await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('ann n # ?')
  await page.getByText('No messages match').waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
  expect((await mailboxOf(page)).email).toBe(email)
  await page.keyboard.press('Escape')
  await row(page, 'Mail 3').waitFor()
  await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('')
  await page.keyboard.press('/')
  await page.keyboard.type('mail 1')
  await page.getByText('1 message found').waitFor()
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toMatch(/Mail 1/)
  // Enter has opened it. One Esc closes it, the next ends the search.
  await page.getByRole('heading', { name: 'Mail 1' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('Select a message to read it').waitFor()
  await page.keyboard.press('Escape')
  await row(page, 'Mail 3').waitFor()

  for (const key of ['x', 'k', 'x', 'x', 'k', 'x']) await page.keyboard.press(key)
  await page.getByText('2 selected').waitFor()
  await page.keyboard.press('Delete')
  await page.locator('.toast', { hasText: '2 messages deleted' }).waitFor()
  await expect.poll(() => page.locator('.mail-subject').allTextContents()).toStrictEqual(['Mail 2'])
  await page.keyboard.press('z')
  await row(page, 'Mail 3').waitFor()
  await expect.poll(() => page.locator('.mail').count()).toBe(3)

  const forced = page.waitForRequest(/check-mail\?.*force=1/)
  await page.keyboard.press('r')
  await forced
  // Combinations with Ctrl are left to the browser.
  await page.keyboard.press('Control+j')
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('messages')
  await page.keyboard.press('n')
  await waitUntil(async () => (await mailboxOf(page)).email !== email)
})

test('j and k move to the next message, Enter moves the focus into it, u, Esc and Back return to its row; ? lists the shortcuts, and they can be turned off permanently', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await mailMany(app(), email, 3)
  await row(page, 'Mail 3').waitFor()
  const heading = (name: string) => page.getByRole('heading', { name })
  const none = page.getByText('Select a message to read it')
  // Without a current row, the newest message.
  await page.evaluate(`document.getElementById('messages').focus()`)
  await page.keyboard.press('Enter')
  await heading('Mail 3').waitFor()
  await page.keyboard.press('j')
  await heading('Mail 2').waitFor()
  await page.keyboard.press('j')
  await heading('Mail 1').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  await heading('Mail 2').waitFor()
  for (const key of ['u', 'Escape']) {
    await page.keyboard.press(key)
    await none.waitFor()
    await expect.poll(() => focused(page)).toMatch(/Mail 2/)
    await page.keyboard.press('Enter')
    await heading('Mail 2').waitFor()
  }

  await page.keyboard.press('u')
  await none.waitFor()
  await page.evaluate(`document.getElementById('messages').focus()`)
  await page.keyboard.press('Enter')
  await heading('Mail 2').and(page.locator(':focus')).waitFor()
  await page.keyboard.press('j')
  await heading('Mail 1').and(page.locator(':focus')).waitFor()
  // Four steps of the header, then the tabs: not through the list.
  await page.keyboard.press('Tab')
  await page.locator('#reader :focus').waitFor()
  // A click leaves the focus in the list.
  await page.locator('.mail-open').first().click()
  await heading('Mail 3').waitFor()
  await expect.poll(() => focused(page)).toMatch(/Mail 3/)
  await page.locator('.mail-open:focus').waitFor()

  // A message opened before the browser has navigated back stays open.
  await page.evaluate(`new Promise((done) => {
    addEventListener('popstate', () => setTimeout(done), { once: true })
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'u', bubbles: true }))
    document.querySelectorAll('.mail-open')[1].click()
  })`)
  await heading('Mail 2').waitFor()
  await page.goBack()
  await none.waitFor()
  expect(new URL(page.url()).pathname).toBe('/')

  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await help.waitFor()
  await expect.poll(() => help.locator('kbd').count()).toBe(15)
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await page.getByText('Settings').click()
  await page.getByRole('checkbox', { name: 'Keyboard shortcuts' }).uncheck()
  await page.reload()
  await waitForInbox(page)
  await row(page, 'Mail 1').waitFor()
  for (const key of ['j', 'n', '#', '?', '/', 'c']) await page.keyboard.press(key)
  expect(await page.getByRole('dialog').count()).toBe(0)
  expect((await mailboxOf(page)).email).toBe(email)
  expect(await page.locator('.mail').count()).toBe(3)
  expect(await page.evaluate('document.activeElement === document.body')).toBe(true)
})
