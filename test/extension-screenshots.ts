import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startApp } from './kit/app/app.ts'
import { SCHEMES } from './kit/page/browser.ts'
import { drive } from './kit/page/engines/chromium.ts'
import { openEngine } from './kit/page/engines/driver.ts'
import { type ChromiumWithExtension, startInChromium } from './kit/page/extension/chromium.ts'
import {
  clickButton,
  fieldValue,
  saveServer,
  tabIdOf,
  waitForButton,
} from './kit/page/extension/person.ts'
import { HOST, startSignUpSite } from './kit/page/extension/sign-up-site.ts'

// Run by hand, with the Node.js of the clone: npx node test/extension-screenshots.ts [FOLDER [LANGUAGE …]]

const [folder = '.scratch/extension', ...languages] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const app = await startApp()
const site = await startSignUpSite(app)

for (const language of languages.length > 0 ? languages : ['en', 'de', 'ar']) {
  const start = startInChromium({ hosts: ['127.0.0.1', HOST], language })
  const engine = await openEngine<ChromiumWithExtension>(start)
  const page = await engine.context.newPage()
  await page.goto(engine.fileUrl('popup.html'))
  await page.locator('#setup').waitFor()
  await shoot(page, `popup-empty-${language}`)
  await page.goto(engine.fileUrl('options.html'))
  await shoot(page, `options-empty-${language}`)
  await saveServer(engine, { url: app.url })

  const form = await engine.context.newPage()
  await form.setViewportSize({ width: 480, height: 340 })
  const driver = { ...drive(form), close: () => form.close() }
  await form.goto(`${site.origin}/form`)
  await form.locator('#email').click()
  await waitForButton(driver, 'address')
  await shoot(form, `button-${language}`)
  await clickButton(driver, 'address', async () =>
    (await fieldValue(driver, '#email')).includes('@'),
  )
  await form.locator('button').click()
  await waitForButton(driver, 'code')
  await shoot(form, `code-${language}`)

  const tabId = await tabIdOf(engine, site.origin)
  await page.setViewportSize({ width: 360, height: 100 })
  await page.goto(engine.fileUrl(`popup.html?tab=${tabId}`))
  await page.locator('[data-email] .code').waitFor()
  await shoot(page, `popup-code-${language}`)
  await page.locator('summary').click()
  await page.locator('#prefix').fill('admin')
  await page.locator('#create').click()
  await page.locator('#status.error').waitFor()
  await shoot(page, `popup-error-${language}`)
  await page.setViewportSize({ width: 900, height: 800 })
  await page.goto(engine.fileUrl('options.html'))
  await page.locator('#servers li').waitFor()
  await shoot(page, `options-${language}`)
  await engine.close()
}
await site.close()
await app.stop()

async function shoot(page: Page, name: string): Promise<void> {
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true })
  }
}
