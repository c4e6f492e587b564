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

// The views of a page have its style sheets and components in common: one of them shows most faults.
const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const isChecked = ({ isMain, screenshotOnly }: View) => (LONG ? !screenshotOnly : isMain)

describe(`on a phone${LONG ? ' and a desktop' : ''}, these views are accessible and fit the screen`, () => {
  for (const views of DOCUMENTS) {
    const checked = views.filter(isChecked)
    const last = views.findLastIndex(isChecked)
    if (checked.length === 0) continue
    test(checked.map(({ name }) => name).join(', '), async () => {
      const page = await visits.visit('/favicon.svg', { viewport: PHONE })
      for (const view of views.slice(0, last + 1).filter(({ screenshotOnly }) => !screenshotOnly)) {
        visits.allow({ complaint: view.complaint })
        await view.open({ page, app: visits.app(), ring })
        if (!checked.includes(view)) continue
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
    await checkScheme(page, 'dark', within)
    await checkScheme(page, 'light', within)
  }
  // Sizes and schemes change layout and colors, not names and roles: those are checked once.
  await checkAccessibility(page, within, ['color-contrast'])
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
