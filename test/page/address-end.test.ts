import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { describe, test } from 'vitest'
import { waitForInbox } from './support/inbox.ts'
import { checkAccessibility, openPages } from './support/pages.ts'

const { app, visit, newTab, allow } = openPages()

const address = (page: Page) => page.locator('#address')
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const focused = (page: Page) => page.evaluate('document.activeElement?.textContent?.trim()')

/** Ends it as another device would. */
async function endElsewhere(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  await fetch(`${app().url}/api/delete-session`, { method: 'POST', headers })
}

describe('an address that has ended', () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`is not given away any more, and can be told by anybody, ${colorScheme}`, async () => {
      const page = await visit('/', { colorScheme })
      const { token } = await waitForInbox(page)
      allow({ complaint: /401/ })
      await endElsewhere(token)
      await page.getByText('This address has expired. Its mail was deleted.').waitFor()
      // Deleted, it is nobody's to have back.
      await button(page, 'Restore').waitFor({ state: 'detached' })
      assert.ok(await button(page, 'Copy').isDisabled())
      assert.ok(await button(page, 'Open on a phone').isDisabled())
      await page.keyboard.press('c')
      await page.getByRole('status').filter({ hasText: 'This address has expired' }).waitFor()
      await checkAccessibility(page)
    })
  }

  test('was not about to end, and nobody is warned of it', async () => {
    const page = await visit('/favicon.svg')
    await page.addInitScript(`globalThis.heard = []
      new MutationObserver(() => {
        for (const { textContent } of document.querySelectorAll('[role=status]')) heard.push(textContent)
      }).observe(document, { subtree: true, childList: true, characterData: true })`)
    await page.goto(app().url)
    const { token } = await waitForInbox(page)
    allow({ complaint: /401/ })
    await endElsewhere(token)
    await page.getByText('This address has expired. Its mail was deleted.').waitFor()
    await button(page, 'New address').click()
    await page.getByRole('status').filter({ hasText: 'New address' }).waitFor()
    assert.doesNotMatch(String(await page.evaluate('heard.join()')), /expires in/)
  })

  test('is warned of once, five minutes before', async () => {
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

describe('ending the address on the page', () => {
  test('leaves none, and a new one is a click away', async () => {
    const page = await visit('/')
    const { token } = await waitForInbox(page)
    const other = await newTab(page, '/')
    await waitForInbox(other)
    // The other tab looks once more when its stream ends.
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

test('on a phone nothing moves when the first address comes', async () => {
  const page = await visit('/favicon.svg', { viewport: { width: 360, height: 740 } })
  // The place is looked at while the address is on its way, and when it is there.
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

describe('by keyboard', () => {
  test('another address is chosen, and the next step goes on from there', async () => {
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

  test('the name is what is typed first', async () => {
    const page = await visit('/')
    await waitForInbox(page)
    await button(page, 'Choose a name').press('Enter')
    await page.getByRole('dialog').getByLabel('Name').and(page.locator(':focus')).waitFor()
  })

  test('domains that could not be listed are asked for again', async () => {
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
