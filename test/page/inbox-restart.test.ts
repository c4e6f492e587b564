import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, test, vi } from 'vitest'
import { ONLY_WOKEN, startApp } from '../app.ts'
import { openBrowser } from '../browser.ts'
import { scratchFolder } from '../scratch.ts'
import { freePorts } from '../served.ts'
import { letter, openInbox, row } from './inbox-steps.ts'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

test('a server that restarts is found again, with what came since', async () => {
  const ports = await freePorts()
  const folder = scratchFolder()
  const kept = { path: folder.path, remove: () => {} }
  const env = { MAYFLY_HTTP_PORT: String(ports.http), MAYFLY_SMTP_PORT: String(ports.smtp) }
  const before = await startApp({ env, folder: kept })
  const page = await browser.newPage()
  await page.goto(before.url)
  const { email } = await openInbox(page)
  await before.mail(email, letter({ subject: 'Before' }))
  await row(page, 'Before').waitFor()

  await before.stop()
  await page.getByText('Could not reach the server.').waitFor()
  await page.getByText(/Retrying in \d+ second/).waitFor()
  const after = await startApp({ env, folder })
  await after.mail(email, letter({ subject: 'After' }))
  await row(page, 'After').waitFor()
  await openInbox(page)
  await row(page, 'Before').waitFor()
  await page.close()
  await after.stop()
})

test('a stream without a beat is taken for dead, and opened anew', async () => {
  const app = await startApp({ quiet: ONLY_WOKEN })
  const page = await browser.newPage()
  await page.clock.install()
  let streams = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/api/events')) streams += 1
  })
  await page.goto(app.url)
  const { email } = await openInbox(page)
  await page.clock.fastForward(30_000)
  await app.mail(email, letter({ subject: 'A sign of life' }))
  await row(page, 'A sign of life').waitFor()
  await page.clock.fastForward(30_000)
  await row(page, 'A sign of life').waitFor()
  if (streams !== 1) throw new Error(`${streams} streams`)
  await page.clock.fastForward(10_500)
  await vi.waitUntil(() => streams === 2, { timeout: 30_000 })
  await app.mail(email, letter({ subject: 'By the second stream' }))
  await row(page, 'By the second stream').waitFor()
  await page.close()
  await app.stop()
})
