import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, test } from 'vitest'
import { SCREENS } from '../browser.ts'
import { checkColours, checkContrast } from '../contrast.ts'
import { type KeyRing, openKeyRing } from '../keys.ts'
import { FAKE_SHOP } from '../shop-client.ts'
import { VIEWS } from './views.ts'
import { checkAccess, visitor } from './visit.ts'

const visits = visitor(FAKE_SHOP)
let ring: KeyRing
beforeAll(async () => {
  ring = await openKeyRing(visits.app())
})
afterAll(() => ring.close())

for (const { name, complaint, within, fleeting, open } of VIEWS) {
  test(`${name} fits, and can be read and used by all, small and big, light and dark`, async () => {
    visits.expect(complaint ? { complaint } : {})
    let page: Page | undefined
    for (const { name: screen, ...viewport } of SCREENS) {
      if (fleeting) page = undefined
      const fresh = page === undefined
      page ??= await visits.visit('/favicon.svg', { viewport })
      if (fresh) await open({ page, app: visits.app(), ring })
      await page.setViewportSize(viewport)
      await page.evaluate(PAINTED)
      const wide = await page.evaluate('document.documentElement.scrollWidth')
      assert.equal(wide, viewport.width, screen)
      await checkScheme(page, 'light')
      // Sizes and schemes change places and colours, no names and no roles: for those one look is enough.
      if (fresh) await checkAccess(page, within)
      await checkScheme(page, 'dark')
      if (screen === 'desktop') await checkColours(page, within)
    }
  })
}

async function checkScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  assert.ok((await checkContrast(page, colorScheme)) > 4)
}

/** Run in the page: what follows its size has followed. */
const PAINTED = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`
