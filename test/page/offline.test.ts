import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { opener, plainMail, row, waitForInbox } from '../kit/page/inbox.ts'
import { htmlMail } from '../kit/page/mails.ts'
import { openPages } from '../kit/page/pages.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit, allow } = openPages()

/** Run in the page: all that it has stored for reading offline. */
const KEPT = `(async () => {
  const cache = await caches.open('mayfly mail')
  const keys = await cache.keys()
  const texts = await Promise.all(keys.map(async (key) => (await cache.match(key))?.text()))
  return JSON.stringify([keys.map(({ url }) => decodeURIComponent(url)), texts])
})()`
const kept = async (page: Page) => String(await page.evaluate(KEPT))
const files = async (page: Page) =>
  (await page.evaluate(`caches.open('mayfly page')
    .then((cache) => cache.keys())
    .then((keys) => keys.map(({ url }) => new URL(url).pathname))`)) as string[]

test('the page opens offline with the last list, and with opened messages if the user wants that; texts are gone with their message or when they are no longer wanted, and all with the address', async () => {
  // 401: the list is requested after the last deletion, when the address may have ended.
  allow({ complaint: /ERR_INTERNET_DISCONNECTED|ERR_FAILED|401 .*check-mail/ })
  const page = await visit('/', { serviceWorkers: 'allow' })
  const { email } = await waitForInbox(page)
  await app().mail(email, plainMail({ subject: 'Your code', text: 'The code is 482915. Canary.' }))
  await row(page, '482915').waitFor()
  await waitUntil(async () => (await kept(page)).includes('Your code'))
  await waitUntil(async () => (await files(page)).includes('/'))
  expect(await kept(page), 'nothing of the text').not.toMatch(/Canary|482915/)

  await page.context().setOffline(true)
  await page.reload()
  await page.getByText('You are offline.').waitFor()
  await opener(page, 'Your code').click()
  await page.getByRole('article').getByText('Could not reach the server').waitFor()
  await page.context().setOffline(false)
  await page.getByText('Canary').first().waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('Settings').click()
  const keeps = page.getByRole('checkbox', { name: 'Keep opened messages on this device' })
  await keeps.check()
  await opener(page, 'Your code').click()
  await waitUntil(async () => (await kept(page)).includes('Canary'))
  // What is loaded only now.
  await app().mail(email, htmlMail('<p>Styled.</p>', { subject: 'In HTML' }))
  await opener(page, 'In HTML').click()
  await waitUntil(async () => (await files(page)).some((path) => path.includes('/sanitise-')))

  await page.context().setOffline(true)
  await page.keyboard.press('Escape')
  await page.reload()
  await row(page, '482915').waitFor()
  await opener(page, 'Your code').click()
  await page.locator('.mail-text', { hasText: 'Canary' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('Settings').click()
  await keeps.uncheck()
  await waitUntil(async () => !/Canary|482915/.test(await kept(page)))
  expect(await kept(page)).toContain('Your code')

  await page.context().setOffline(false)
  await waitForInbox(page)
  await keeps.check()
  await opener(page, 'Your code').click()
  await waitUntil(async () => (await kept(page)).includes('Canary'))
  await page.keyboard.press('#')
  await waitUntil(async () => !(await kept(page)).includes('Canary'))
  // The next message is open now.
  await page.getByRole('heading', { name: 'In HTML' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Delete address' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await waitUntil(async () => !(await kept(page)).includes(email))
  expect(await page.evaluate('JSON.stringify({ ...localStorage })')).not.toContain(email)
})
