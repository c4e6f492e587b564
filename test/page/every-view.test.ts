import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BY_COLOUR_ALONE, CUT } from '../kit/page/accessibility-tree.ts'
import { DESKTOP, PHONE, ZOOMED } from '../kit/page/browser.ts'
import { checkColours, checkContrast } from '../kit/page/contrast.ts'
import { checkAccessibility, openPages } from '../kit/page/pages.ts'
import { ADMIN_ENV } from '../kit/page/views/admin.ts'
import { OWN_DOMAINS } from '../kit/page/views/key.ts'
import { DOCUMENTS, type View } from '../kit/page/views.ts'
import { type KeyRing, openKeyRing } from '../kit/shop/keys.ts'
import { FAKE_SHOP } from '../kit/shop/shop-client.ts'

const visits = openPages({ ...FAKE_SHOP, ...ADMIN_ENV, ...OWN_DOMAINS })
let ring: KeyRing
beforeAll(async () => {
  ring = await openKeyRing(visits.app())
})
afterAll(() => ring.close())

// The color schemes differ only in the values of a few colors: one view per page is enough.
const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const pageOf = (name: string) => name.split('-')[0]
const VIEWS = DOCUMENTS.flat().filter(({ screenshotOnly }) => !screenshotOnly)
const isDarkToo = (name: string) =>
  LONG || VIEWS.find((view) => pageOf(view.name) === pageOf(name))?.name === name

describe(`on a phone${LONG ? ' and a desktop' : ''}, these views are accessible and fit the screen`, () => {
  for (const views of DOCUMENTS) {
    const checked = views.filter(({ screenshotOnly }) => !screenshotOnly)
    if (checked.length === 0) continue
    test(checked.map(({ name }) => name).join(', '), async () => {
      const page = await visits.visit('/favicon.svg', { viewport: PHONE })
      for (const view of checked) {
        visits.allow({ complaint: view.complaint })
        await view.open({ page, app: visits.app(), ring })
        await shorten(page, view)
        await checkView(page, view)
      }
    })
  }
})

// The phone, where room is scarcest, is last, because the next view is opened on it.
const VIEWPORTS = LONG ? [DESKTOP, ZOOMED, PHONE] : [PHONE]

/** Checks the size of a long document, and removes what is like the rest, whose names and roles only the long run checks. */
async function shorten(page: Page, view: View): Promise<void> {
  if (!view.repeated) return
  for (const viewport of VIEWPORTS) await checkSize(page, view, viewport)
  if (LONG) await checkAccessibility(page, view.within, ['color-contrast'])
  const removed = page.locator(view.repeated)
  expect(await removed.evaluateAll((all) => all.map((one) => one.remove()).length)).toBeTruthy()
}

async function checkView(page: Page, view: View): Promise<void> {
  const { name, within } = view
  for (const viewport of VIEWPORTS) {
    await checkSize(page, view, viewport)
    // Its elements are those of the phone.
    if (viewport === ZOOMED) continue
    await checkSelected(page, `${name} at ${viewport.width} px`, within)
    if (viewport === DESKTOP && IN_LINE.test(name)) {
      const { mark, content } = (await page.evaluate(EDGES)) as Record<string, number>
      expect(content, `${name} begins below the logo`).toBe(mark)
    }
    // Contrast hardly depends on the size.
    if (viewport === DESKTOP && !isDarkToo(name)) continue
    if (isDarkToo(name)) await checkScheme(page, 'dark', within)
    await checkScheme(page, 'light', within)
  }
  // Sizes and schemes change layout and colors, not names and roles: those are checked once. The contrast of text is checked
  // above, and by axe in one view per page, which takes long.
  await checkAccessibility(page, within, ['color-contrast'])
  if (!isDarkToo(name)) return
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    await checkColours(page, within)
  }
}

/** It is as wide as the screen, and no text is cut off. */
async function checkSize(
  page: Page,
  { name, within = 'body' }: View,
  viewport: typeof PHONE,
): Promise<void> {
  await page.setViewportSize(viewport)
  await page.evaluate(PAINTED)
  const wide = await page.evaluate('document.documentElement.scrollWidth')
  expect(wide, name).toBe(viewport.width)
  const cut = await page.evaluate(`(${CUT})(document.querySelector('${within}'))`)
  expect(cut, `${name} at ${viewport.width} px is cut off`).toStrictEqual([])
}

/** What is selected can be told without colors, also those of the system. */
async function checkSelected(page: Page, name: string, within = 'body'): Promise<void> {
  for (const forcedColors of ['active', 'none'] as const) {
    await page.emulateMedia({ forcedColors })
    const alike = await page.evaluate(`(${BY_COLOUR_ALONE})(document.querySelector('${within}'))`)
    expect(alike, `${name}, forced colors: ${forcedColors}`).toStrictEqual([])
  }
}

async function checkScheme(
  page: Page,
  colorScheme: 'light' | 'dark',
  within?: string,
): Promise<void> {
  await page.emulateMedia({ colorScheme })
  expect(await checkContrast(page, colorScheme, within)).toBeGreaterThan(within ? 0 : 4)
}

const IN_LINE = /^(?:inbox-empty|key-form|docs|plain-start|plain-not-found|leave-.*)$/

/** Run in the page: where the logo and the content begin. */
const EDGES = `({
  mark: document.querySelector('.mark').getBoundingClientRect().x,
  content: Math.min(
    ...[...document.querySelectorAll('main :is(h1, p, .panel), .contents a')]
      .map((one) => one.getBoundingClientRect())
      .filter(({ width }) => width > 1)
      .map(({ x }) => x),
  ),
})`

/** Run in the page: resize observers have run. */
const PAINTED = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`
