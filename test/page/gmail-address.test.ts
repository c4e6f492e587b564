import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GmailApp, startGmailApp } from '../kit/gmail/gmail-app.ts'
import { sharedBrowser } from '../kit/page/browser.ts'

const JOEY = 'joey@gmail.com'

let app: GmailApp
let browser: Browser
beforeAll(async () => {
  app = await startGmailApp([{ email: JOEY }, { email: 'ann@gmail.com' }])
  await app.setHealth(JOEY, 'ok')
  browser = await sharedBrowser()
})
afterAll(async () => {
  await app.stop()
})

test('an alias can be created if the site has Gmail accounts', async () => {
  const page = await browser.newPage()
  await page.goto(`${app.url}/`)
  await page.getByRole('button', { name: 'Choose a name' }).click()
  const dialog = page.getByRole('dialog')
  const places = dialog.getByLabel('Domain')
  await places.filter({ hasText: 'Gmail alias: any Gmail account' }).waitFor()
  await dialog.getByLabel('Name').fill('shop')
  await places.selectOption({ label: `Gmail alias: ${JOEY}` })
  await dialog.getByRole('button', { name: 'Create address' }).click()
  await page.locator('#address').filter({ hasText: 'joey+shop@gmail.com' }).waitFor()
  await expect.poll(() => dialog.count()).toBe(0)
})
