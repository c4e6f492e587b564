import assert from 'node:assert/strict'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openBrowser, SCHEMES, SCREENS } from './browser.ts'
import { checkContrast } from './contrast.ts'
import { type House, openHouse } from './house.ts'

let house: House
let browser: Browser
beforeAll(async () => {
  house = await openHouse()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await house.stop()
})

let opened: Page | undefined
let asked: string[]
let complaints: string[]
beforeEach(() => {
  asked = []
  complaints = []
})
// Whatever a test does to the page, it asks nobody else and the browser has nothing to say.
afterEach(async () => {
  await opened?.close()
  assert.deepEqual(complaints, [])
  assert.ok(asked.length > 0)
  for (const url of asked) assert.equal(new URL(url).origin, house.url)
})

async function openDocs(options: Parameters<Browser['newPage']>[0]): Promise<Page> {
  const page = await browser.newPage({ reducedMotion: 'reduce', ...options })
  opened = page
  page.on('request', (request) => asked.push(request.url()))
  page.on('pageerror', (fault) => complaints.push(fault.message))
  // A violation of the policy is told on the console as well.
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  const response = await page.goto(`${house.url}/docs`)
  assert.equal(response?.status(), 200)
  return page
}

for (const { name, ...viewport } of SCREENS) {
  describe(`/docs on a ${name}`, () => {
    test('is as wide as the screen and no wider', async () => {
      const page = await openDocs({ viewport })
      const width = await page.evaluate('document.documentElement.scrollWidth')
      assert.equal(width, viewport.width)
    })

    test('leads from each link to its section', async () => {
      const page = await openDocs({ viewport })
      const links = await page.locator('nav a').all()
      assert.ok(links.length > 10)
      for (const link of links) {
        const target = (await link.getAttribute('href')) ?? ''
        await link.click()
        const box = await page.locator(target).boundingBox()
        assert.ok(box && box.y < viewport.height && box.y + box.height > 0, `${target} is in sight`)
        assert.equal(new URL(page.url()).hash, target)
      }
    })

    for (const colorScheme of SCHEMES) {
      test(`can be read where people like it ${colorScheme}`, async () => {
        const page = await openDocs({ viewport, colorScheme })
        assert.ok((await checkContrast(page, colorScheme)) > 20)
      })
    }
  })
}

test('/docs runs no script', async () => {
  const page = await openDocs({ javaScriptEnabled: false })
  assert.equal(await page.locator('script').count(), 0)
  assert.ok(await page.getByRole('heading', { name: 'First steps' }).isVisible())
})
