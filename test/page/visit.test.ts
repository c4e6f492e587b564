import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { PHONE } from '../kit/page/browser.ts'
import { storeMailboxes } from '../kit/page/inbox.ts'
import { emptyTraffic, openPages, recordTraffic } from '../kit/page/pages.ts'

const { app, visit, allow } = openPages()

test('a tab opened by a link is monitored like the tabs that a test opens', async () => {
  allow({ complaint: /a word from there/ })
  const page = await visit('/favicon.svg')
  const seen = emptyTraffic()
  recordTraffic(page.context(), () => seen)
  const [other] = await Promise.all([
    page.context().waitForEvent('page'),
    page.evaluate(`open('/livez?from-a-link', '_blank', 'noopener')`),
  ])
  await other.waitForURL('**/livez?from-a-link')
  await other.evaluate(`console.warn('a word from there')`)
  await expect.poll(() => seen.complaints.join()).toMatch(/a word from there/)
  expect(seen.requested).toContain(`${app().url}/livez?from-a-link`)
})

test('without an admin token in the settings there is no admin page', async () => {
  allow({ complaint: /404/ })
  const page = await visit('/favicon.svg')
  const response = await page.goto(`${app().url}/admin`)
  expect(response?.status()).toBe(404)
  await page.getByRole('heading', { level: 1 }).waitFor()
  expect(await page.getByLabel('Admin token').count()).toBe(0)
})

test('a new visitor reads what this is, and receives a test mail where others cannot arrive', async () => {
  const page = await visit('/', { viewport: PHONE })
  await page.getByText('Disposable email addresses, no sign-up').filter({ visible: true }).waitFor()
  await page.getByText('outside mail cannot reach it').waitFor()
  await page.locator('#address', { hasText: '@' }).waitFor()
  await expect
    .poll(() => page.evaluate(LINES), { message: 'the address breaks only before the @' })
    .toStrictEqual([1, 1])
  const button = page.getByRole('button', { name: 'Send me a test mail' })
  await expect.poll(() => isAboveTheFold(button), { message: 'on a phone' }).toBeTruthy()
  await page.setViewportSize({ width: 844, height: 390 })
  await expect
    .poll(() => isAboveTheFold(button), { message: 'on a phone on its side' })
    .toBeTruthy()
  await page.setViewportSize(PHONE)
  await button.click()
  await page.locator('.mail-open', { hasText: 'Test message' }).waitFor()
})

test('where mail can arrive, it is said once that an address only receives', async () => {
  const page = await visit('/favicon.svg')
  const { token } = await app().session()
  await storeMailboxes(page, [{ email: 'lafupeno.kidome@mail-box.org', token }])
  await page.goto(app().url)
  await page.getByText('It receives mail but cannot send any.').waitFor()
  expect(await page.getByText(/cannot send/).count()).toBe(1)
})

/** Whether it is visible without scrolling. */
async function isAboveTheFold(part: Locator): Promise<boolean> {
  const { y = 0, height = 0 } = (await part.boundingBox()) ?? {}
  return y + height <= (part.page().viewportSize()?.height ?? 0)
}

/** Run in the page: the number of lines of each part of the address. */
const LINES = `[...document.querySelector('#address bdi').childNodes]
  .filter(({ nodeType }) => nodeType === 3)
  .map((part) => {
    const range = document.createRange()
    range.selectNodeContents(part)
    return range.getClientRects().length
  })`

describe('a page that is used again', () => {
  const heard: string[] = []
  let first: Page | undefined

  test('may be listened to and resized by a test', async () => {
    first = await visit('/favicon.svg', { viewport: PHONE })
    for (const owner of [first, first.context()])
      owner.on('request', (request) => heard.push(request.url()))
    await first.setViewportSize({ width: 800, height: 600 })
    await first.reload()
    expect(heard.length).toBe(2)
  })

  test('has neither the listeners nor the size of the test before', async () => {
    heard.splice(0)
    const page = await visit('/favicon.svg', { viewport: PHONE })
    expect(page).toBe(first)
    expect([heard, page.viewportSize()]).toStrictEqual([[], PHONE])
  })
})
