import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, test } from 'vitest'
import { type KeyRing, openKeyRing } from '../support/keys.ts'
import { FAKE_SHOP } from '../support/shop-client.ts'
import { SCREENS } from './support/browser.ts'
import { checkColours, checkContrast } from './support/contrast.ts'
import { checkAccessibility, openPages } from './support/pages.ts'
import { VIEWS } from './views.ts'

const visits = openPages(FAKE_SHOP)
let ring: KeyRing
beforeAll(async () => {
  ring = await openKeyRing(visits.app())
})
afterAll(() => ring.close())

// The color schemes differ only in the values of a few colors: one view per page is enough.
const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const pageOf = (name: string) => name.split('-')[0]
const isDarkToo = (name: string) =>
  LONG || VIEWS.find((view) => pageOf(view.name) === pageOf(name))?.name === name

for (const { name, complaint, within, transient, open } of VIEWS) {
  test(`${name} is accessible and fits the screen, on a phone and a desktop`, async () => {
    visits.allow(complaint ? { complaint } : {})
    let page: Page | undefined
    for (const { name: screen, ...viewport } of SCREENS) {
      if (transient) page = undefined
      const fresh = page === undefined
      page ??= await visits.visit('/favicon.svg', { viewport })
      if (fresh) await open({ page, app: visits.app(), ring })
      await page.setViewportSize(viewport)
      await page.evaluate(PAINTED)
      const wide = await page.evaluate('document.documentElement.scrollWidth')
      assert.equal(wide, viewport.width, screen)
      await checkScheme(page, 'light')
      // Sizes and schemes change layout and colors, not names and roles: those are checked once.
      if (fresh) await checkAccessibility(page, within)
      if (!isDarkToo(name)) continue
      await checkScheme(page, 'dark')
      if (screen === 'desktop') await checkColours(page, within)
    }
  })
}

async function checkScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  assert.ok((await checkContrast(page, colorScheme)) > 4)
}

/** Run in the page: resize observers have run. */
const PAINTED = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`
