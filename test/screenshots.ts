import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startApp } from './kit/app/app.ts'
import { DESKTOP, launchBrowser, PHONE } from './kit/page/browser.ts'
import { closeMenu } from './kit/page/inbox.ts'
import { ADMIN_ENV } from './kit/page/views/admin.ts'
import { OWN_DOMAINS } from './kit/page/views/key.ts'
import { DOCUMENTS } from './kit/page/views.ts'
import { openKeyRing } from './kit/shop/keys.ts'
import { FAKE_SHOP } from './kit/shop/shop-client.ts'

// Run by hand, with the Node.js of the clone: npx node test/screenshots.ts [FOLDER [VIEW | SCREEN | SCHEME | LANGUAGE …]]
// test/install.ts installs fonts for Chinese and Arabic.

const SCREENS = {
  desktop: DESKTOP,
  laptop: { width: 1366, height: 768 },
  wide: { width: 1920, height: 1080 },
  tablet: { width: 820, height: 1180 },
  phone: PHONE,
  landscape: { width: 844, height: 390 },
}
const SCHEMES = {
  light: { colorScheme: 'light', forcedColors: 'none' },
  dark: { colorScheme: 'dark', forcedColors: 'none' },
  forced: { colorScheme: 'light', forcedColors: 'active' },
} as const
const LANGUAGES = ['en', 'de', 'ar', 'zh'] as const

const [folder = '.scratch/screens', ...words] = process.argv.slice(2)
/** Those that the command line names; all if it names none of them. */
function chosen<Name extends string>(all: readonly Name[]): ReadonlySet<Name> {
  const named = all.filter((name) => words.includes(name))
  return new Set(named.length > 0 ? named : all)
}
const views = chosen(DOCUMENTS.flat().map(({ name }) => name))
const screens = chosen(Object.keys(SCREENS) as (keyof typeof SCREENS)[])
const schemes = chosen(Object.keys(SCHEMES) as (keyof typeof SCHEMES)[])
const languages = chosen(LANGUAGES)

mkdirSync(folder, { recursive: true })
const app = await startApp({ env: { ...FAKE_SHOP, ...ADMIN_ENV, ...OWN_DOMAINS } })
const ring = await openKeyRing(app)
const browser = await launchBrowser()

for (const document of DOCUMENTS.filter((some) => some.some(({ name }) => views.has(name)))) {
  const context = await browser.newContext({ reducedMotion: 'reduce' })
  const page = await context.newPage()
  for (const { name: view, open, resized } of document) {
    await page.setViewportSize(PHONE)
    await open({ page, app, ring })
    for (const language of views.has(view) ? languages : []) {
      await setLanguage(page, language)
      for (const screen of screens) {
        await page.setViewportSize(SCREENS[screen])
        await resized?.(page)
        for (const scheme of schemes) {
          await page.emulateMedia(SCHEMES[scheme])
          const path = join(folder, `${view}-${language}-${screen}-${scheme}.png`)
          // The reference is long: the visible part is enough.
          await page.screenshot({ path, fullPage: !view.startsWith('docs') })
        }
      }
    }
    // The next view is opened by its English texts, without a menu.
    await closeMenu(page)
    await setLanguage(page, 'en')
  }
  await context.close()
}
await browser.close()
await ring.close()
await app.stop()

/** By the footer, which keeps the view as it is. A page without scripts is loaded again. */
async function setLanguage(page: Page, language: string): Promise<void> {
  if ((await page.evaluate('document.documentElement.lang')) === language) return
  await page.setExtraHTTPHeaders({ 'accept-language': language })
  const hasSelected = await page.evaluate(`(() => {
    const select = [...document.querySelectorAll('.foot select')].at(-1)
    if (!select) return false
    select.value = '${language}'
    return select.dispatchEvent(new Event('change', { bubbles: true }))
  })()`)
  if (!hasSelected) await page.reload()
  await page.locator(`html[lang=${language}]`).waitFor()
}
