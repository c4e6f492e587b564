import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { describe, test } from 'vitest'
import { checkColours } from './support/contrast.ts'
import { waitForInbox } from './support/inbox.ts'
import { checkAccessibility, openPages } from './support/pages.ts'

const { app, visit, newTab, allow } = openPages()

const address = (page: Page) => page.locator('#address')
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const focused = (page: Page) => page.evaluate('document.activeElement?.textContent?.trim()')

/** Ends the session through the API, like another device. */
async function endElsewhere(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  await fetch(`${app().url}/api/delete-session`, { method: 'POST', headers })
}

describe('an address that has ended', () => {
  test('can no longer be copied, and its end is accessible to everyone, light and dark', async () => {
    const page = await visit('/')
    const { token } = await waitForInbox(page)
    allow({ complaint: /401/ })
    await endElsewhere(token)
    await page.getByText('This address no longer exists. Its mail was deleted.').waitFor()
    await page.getByRole('heading', { name: 'This address no longer exists' }).waitFor()
    // A deleted address cannot be restored.
    await button(page, 'Restore').waitFor({ state: 'detached' })
    assert.ok(await button(page, 'Copy').isDisabled())
    assert.ok(await button(page, 'Open on a phone').isDisabled())
    await page.keyboard.press('c')
    await page.getByRole('status').filter({ hasText: 'This address no longer exists' }).waitFor()
    await checkAccessibility(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await checkColours(page)
  })

  test('was deleted, so no expiry warning is shown', async () => {
    const page = await visit('/favicon.svg')
    await page.addInitScript(`globalThis.heard = []
      new MutationObserver(() => {
        for (const { textContent } of document.querySelectorAll('[role=status]')) heard.push(textContent)
      }).observe(document, { subtree: true, childList: true, characterData: true })`)
    await page.goto(app().url)
    const { token } = await waitForInbox(page)
    allow({ complaint: /401/ })
    await endElsewhere(token)
    await page.getByText('This address no longer exists. Its mail was deleted.').waitFor()
    await button(page, 'New address').click()
    await page.getByRole('status').filter({ hasText: 'New address' }).waitFor()
    assert.doesNotMatch(String(await page.evaluate('heard.join()')), /expires in/)
  })

  test('is announced once, five minutes before its end', async () => {
    const page = await visit('/favicon.svg')
    await page.clock.install()
    await page.goto(app().url)
    await waitForInbox(page)
    await page.clock.fastForward((86_400 - 290) * 1000)
    await page
      .getByRole('status')
      .filter({ hasText: 'This address expires in 5 minutes' })
      .waitFor()
  })
})

test('an address opened shortly before its end is announced and marked, too', async () => {
  const page = await visit('/favicon.svg')
  await page.clock.install()
  await page.goto(app().url)
  await waitForInbox(page)
  assert.equal(await page.locator('.address-life.soon').count(), 0)
  await page.goto(`${app().url}/favicon.svg`)
  await page.clock.fastForward((86_400 - 150) * 1000)
  await page.goto(app().url)
  await page.getByRole('status').filter({ hasText: 'expires in 3 minutes' }).waitFor()
  await page.locator('.address-life.soon').waitFor()
})

describe('ending the address on the page', () => {
  test('leaves no address, and a button creates a new one', async () => {
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
    assert.equal(status, 401)
    assert.equal(await address(other).textContent(), await address(page).textContent())
  })
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
  assert.equal((await page.locator('#messages').boundingBox())?.y, before?.y)
})

describe('with the keyboard', () => {
  test('another address is selected, and the focus continues from there', async () => {
    const page = await visit('/')
    const { email } = await waitForInbox(page)
    await button(page, 'New address').click()
    await page.getByText('1 more address').press('Enter')
    await page.getByTitle(`Show ${email}`).press('Enter')
    await page
      .getByRole('status')
      .filter({ hasText: `Now showing ${email}` })
      .waitFor()
    assert.equal(await focused(page), '1 more address')
  })

  test('the name field has the focus first', async () => {
    const page = await visit('/')
    await waitForInbox(page)
    await button(page, 'Choose a name').press('Enter')
    await page.getByRole('dialog').getByLabel('Name').and(page.locator(':focus')).waitFor()
  })

  test('domains that failed to load are requested again', async () => {
    const page = await visit('/')
    await waitForInbox(page)
    await page.context().route('**/api/domains', (route) => route.abort())
    allow({ complaint: /ERR_FAILED/ })
    await button(page, 'Choose a name').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Could not reach the server').waitFor()
    await page.context().unroute('**/api/domains')
    await dialog.getByRole('button', { name: 'Try again' }).click()
    await dialog.getByLabel('Domain').filter({ hasText: '@box.test' }).waitFor()
  })
})
