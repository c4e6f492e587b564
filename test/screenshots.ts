import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { launchBrowser, PHONE, SCHEMES, SCREENS } from './page/support/browser.ts'
import { DOCUMENTS, type View } from './page/views.ts'
import { startApp } from './support/app.ts'
import { openKeyRing } from './support/keys.ts'
import { FAKE_SHOP } from './support/shop-client.ts'

// Run by hand, with the Node.js of the clone: npx node test/screenshots.ts [FOLDER [VIEW …]]

const [folder = '.scratch/screens', ...names] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const app = await startApp({ env: FAKE_SHOP })
const ring = await openKeyRing(app)
const browser = await launchBrowser()

const isChosen = ({ name }: View) => names.length === 0 || names.includes(name)

for (const views of DOCUMENTS.filter((some) => some.some(isChosen))) {
  for (const { name, ...viewport } of SCREENS) {
    const context = await browser.newContext({ viewport: PHONE, reducedMotion: 'reduce' })
    const page = await context.newPage()
    for (const view of views) {
      await page.setViewportSize(PHONE)
      await view.open({ page, app, ring })
      if (!isChosen(view)) continue
      await page.setViewportSize(viewport)
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme })
        const path = join(folder, `${view.name}-${name}-${colorScheme}.png`)
        // The reference is long: the visible part is enough.
        await page.screenshot({ path, fullPage: !view.name.startsWith('docs') })
      }
    }
    await context.close()
  }
}
await browser.close()
await ring.close()
await app.stop()
