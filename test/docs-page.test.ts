import assert from 'node:assert/strict'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openBrowser, SCHEMES, SCREENS } from './browser.ts'
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
        const pairs = (await page.evaluate(COLOURS)) as [string, number[], number[]][]
        assert.ok(pairs.length > 20)
        for (const [text, ink, paper] of pairs) {
          const ratio = contrast(ink, paper)
          assert.ok(ratio >= 4.5, `${text}: ${ink} on ${paper} has a contrast of ${ratio}`)
        }
        const [, , paper = []] = pairs[0] ?? []
        assert.equal(luminance(paper) > 0.5, colorScheme === 'light')
      })
    }
  })
}

test('/docs runs no script', async () => {
  const page = await openDocs({ javaScriptEnabled: false })
  assert.equal(await page.locator('script').count(), 0)
  assert.ok(await page.getByRole('heading', { name: 'First steps' }).isVisible())
})

/** Run in the page: what each element with text of its own is written in, and on what. */
const COLOURS = `
  (() => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number)
    const paper = (element) => {
      const own = numbers(getComputedStyle(element).backgroundColor)
      return own.length === 3 || !element.parentElement ? own : paper(element.parentElement)
    }
    return [...document.body.querySelectorAll('*')]
      .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
      .map((element) => [element.textContent.slice(0, 40), numbers(getComputedStyle(element).color), paper(element)])
  })()
`

/** WCAG 2: 1 for the same colour, 21 for black on white; small text needs 4.5. */
function contrast(one: number[], other: number[]): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function luminance([red = 0, green = 0, blue = 0]: number[]): number {
  const linear = (part: number) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}
