import type { Browser } from 'playwright-core'
import { beforeAll, test } from 'vitest'
import { startApp, WITHOUT_POLLING } from '../kit/app/app.ts'
import { freeServicePorts } from '../kit/app/service-process.ts'
import { sharedBrowser } from '../kit/page/browser.ts'
import { plainMail, row, waitForInbox } from '../kit/page/inbox.ts'
import { tempFolder } from '../kit/store/stores.ts'
import { waitUntil } from '../kit/wait-until.ts'

let browser: Browser
beforeAll(async () => {
  browser = await sharedBrowser()
})

test('after a restart of the server the page reconnects and shows the mail received since', async () => {
  const ports = await freeServicePorts()
  const folder = tempFolder()
  const reusedFolder = { path: folder.path, remove: () => {} }
  const env = { MAYFLY_HTTP_PORT: String(ports.http), MAYFLY_SMTP_PORT: String(ports.smtp) }
  const before = await startApp({ env, folder: reusedFolder })
  const page = await browser.newPage()
  await page.goto(before.url)
  const { email } = await waitForInbox(page)
  await before.mail(email, plainMail({ subject: 'Before' }))
  await row(page, 'Before').waitFor()

  await before.stop()
  await page.getByText('Could not reach the server.').waitFor()
  await page.getByText(/Retrying in \d+ second/).waitFor()
  const after = await startApp({ env, folder })
  await after.mail(email, plainMail({ subject: 'After' }))
  await row(page, 'After').waitFor()
  await waitForInbox(page)
  await row(page, 'Before').waitFor()
  await page.close()
  await after.stop()
})

test('a stream without heartbeats is considered dead and reopened, one beside which a poll fails is not', async () => {
  const app = await startApp({ intervals: WITHOUT_POLLING })
  const page = await browser.newPage({ serviceWorkers: 'block' })
  await page.clock.install()
  let streams = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/api/events')) streams += 1
  })
  await page.goto(app.url)
  const { email } = await waitForInbox(page)
  await page.clock.fastForward(30_000)
  await app.mail(email, plainMail({ subject: 'A sign of life' }))
  await row(page, 'A sign of life').waitFor()
  const failed = page.waitForEvent('requestfailed')
  await page.route('**/api/check-mail*', (route) => route.abort())
  await page.clock.fastForward(30_000)
  await failed
  await app.mail(email, plainMail({ subject: 'By the same stream' }))
  await row(page, 'By the same stream').waitFor()
  await page.unroute('**/api/check-mail*')
  await page.clock.fastForward(30_000)
  await row(page, 'By the same stream').waitFor()
  if (streams !== 1) throw new Error(`${streams} streams`)
  await page.clock.fastForward(10_500)
  await waitUntil(() => streams === 2)
  await app.mail(email, plainMail({ subject: 'By the second stream' }))
  await row(page, 'By the second stream').waitFor()
  await page.close()
  await app.stop()
})
