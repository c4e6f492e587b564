import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { checkColours } from '../kit/page/contrast.ts'
import { storedMailboxes, storeMailboxes, waitForInbox } from '../kit/page/inbox.ts'
import { checkAccessibility, openPages } from '../kit/page/pages.ts'

const { app, visit, visitWithClock, newTab, allow } = openPages()

const address = (page: Page) => page.locator('#address')
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const focused = (page: Page) => page.evaluate('document.activeElement?.textContent?.trim()')

/** Ends the session through the API, like another device. */
async function endElsewhere(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  await fetch(`${app().url}/api/delete-session`, { method: 'POST', headers })
}

/** Run in the page: everything that is announced from now on. */
const RECORD_ANNOUNCEMENTS = `
  heard = []
  new MutationObserver(() => {
    for (const { textContent } of document.querySelectorAll('[role=status]')) heard.push(textContent)
  }).observe(document, { subtree: true, childList: true, characterData: true })
`

test('an address that was deleted cannot be copied, is not announced as expiring, and its end is accessible, light and dark', async () => {
  const page = await visit('/')
  const { token } = await waitForInbox(page)
  await page.evaluate(RECORD_ANNOUNCEMENTS)
  allow({ complaint: /401/ })
  await endElsewhere(token)
  await page.getByText('This address no longer exists. Its mail was deleted.').waitFor()
  await page.getByRole('heading', { name: 'This address no longer exists' }).waitFor()
  // A deleted address cannot be restored.
  await button(page, 'Restore').waitFor({ state: 'detached' })
  await expect.poll(() => button(page, 'Copy').isDisabled()).toBeTruthy()
  await expect.poll(() => button(page, 'Open on a phone').isDisabled()).toBeTruthy()
  await page.keyboard.press('c')
  await page.getByRole('status').filter({ hasText: 'This address no longer exists' }).waitFor()
  await checkAccessibility(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await checkColours(page)

  await button(page, 'New address').click()
  await page.getByRole('status').filter({ hasText: 'New address' }).waitFor()
  const heard = String(await page.evaluate('heard.join()'))
  expect(heard).toMatch(/no longer exists/)
  expect(heard).not.toMatch(/expires in/)
})

test('the end is announced five minutes before it, and to those who open the page later, with a mark', async () => {
  const page = await visitWithClock('/')
  await waitForInbox(page)
  expect(await page.locator('.address-life.soon').count()).toBe(0)
  await page.clock.fastForward((86_400 - 290) * 1000)
  await page.getByRole('status').filter({ hasText: 'This address expires in 5 minutes' }).waitFor()
  await page.goto(`${app().url}/favicon.svg`)
  await page.clock.fastForward(140_000)
  await page.goto(app().url)
  await page.getByRole('status').filter({ hasText: 'expires in 3 minutes' }).waitFor()
  await page.locator('.address-life.soon').waitFor()
})

test('ending the address on the page leaves no address, and a button creates a new one', async () => {
  const page = await visit('/')
  const { token } = await waitForInbox(page)
  const other = await newTab(page, '/')
  await waitForInbox(other)
  // The other tab polls once more when its stream ends.
  allow({ complaint: /401/ })
  await button(page, 'Delete address').click()
  await button(page, 'Delete').click()
  await address(page).filter({ hasText: 'No address' }).waitFor()
  await address(other).filter({ hasText: 'No address' }).waitFor()
  await page.waitForFunction(`document.activeElement?.id === 'new-address'`)
  await page.keyboard.press('Enter')
  await address(page).filter({ hasText: '@' }).waitFor()
  const { status } = await fetch(`${app().url}/api/check-mail?token=${token}`)
  expect(status).toBe(401)
  await expect.poll(() => address(other).textContent()).toBe(await address(page).textContent())
})

test('after one of several addresses is deleted, the focus is not on the button that deletes the next', async () => {
  const page = await visit('/')
  await waitForInbox(page)
  await button(page, 'New address').click()
  await page.getByText('1 more address').waitFor()
  await button(page, 'Delete address').press('Enter')
  await button(page, 'Delete').press('Enter')
  await page.getByText('1 more address').waitFor({ state: 'detached' })
  await page.locator('#new-address:focus').waitFor()
  // Later effects of the closed dialog do not move it.
  await page.getByRole('status').filter({ hasText: 'deleted.' }).waitFor()
  await expect.poll(() => focused(page)).toBe('New address')
})

test('on a phone the layout does not shift when the first address arrives', async () => {
  const page = await visit('/favicon.svg', { viewport: { width: 360, height: 740 } })
  // Compares the position while the address is being created and afterwards.
  const held = Promise.withResolvers<void>()
  await page.context().route('**/api/create-session', async (route) => {
    await held.promise
    await route.continue()
  })
  await page.goto(app().url)
  await address(page).filter({ hasText: 'Getting an address' }).waitFor()
  const before = await page.locator('#messages').boundingBox()
  held.resolve()
  await waitForInbox(page)
  expect((await page.locator('#messages').boundingBox())?.y).toBe(before?.y)
})

test('with the keyboard the name field is first, domains that failed to load are requested again, and the focus continues from a selected address', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await page.context().route('**/api/domains', (route) => route.abort())
  allow({ complaint: /ERR_FAILED/ })
  await button(page, 'Choose a name').press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor()
  await dialog.getByText('Could not reach the server').waitFor()
  await page.context().unroute('**/api/domains')
  await dialog.getByRole('button', { name: 'Try again' }).click()
  await dialog.getByLabel('Domain').filter({ hasText: '@box.test' }).waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  await button(page, 'New address').click()
  await page.getByText('1 more address').press('Enter')
  await page.getByTitle(`Show ${email}`).press('Enter')
  await page
    .getByRole('status')
    .filter({ hasText: `Now showing ${email}` })
    .waitFor()
  await expect.poll(() => focused(page)).toBe('1 more address')
})

test('no address is lost if the clock of the device is 40 days ahead', async () => {
  const page = await visit('/favicon.svg')
  const sessions = [await app().session(), await app().session()]
  await storeMailboxes(page, sessions)
  await page.clock.install({ time: Date.now() + 40 * 86_400_000 })
  await page.goto(`${app().url}/`)
  await page.getByText('2 more addresses').waitFor()
  await page.getByText('23 hr 59 min left').waitFor()
  await button(page, 'New address').click()
  await page.getByText('3 more addresses').waitFor()
  const stored = (await storedMailboxes(page)).map(({ email }) => email)
  expect(stored).toStrictEqual(expect.arrayContaining(sessions.map(({ email }) => email)))
  // The clock is corrected.
  await page.clock.setSystemTime(Date.now())
  await page.reload()
  await page.getByText('3 more addresses').waitFor()
  await page.getByText('23 hr 59 min left').waitFor()
})
