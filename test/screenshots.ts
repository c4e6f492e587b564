import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser, SCHEMES, SCREENS } from './browser.ts'
import { openHouse } from './house.ts'

// Run by hand: node test/screenshots.ts [FOLDER]

/** Where the page is looked at: its top, an endpoint with many parameters, one with a long answer, and the end. */
const PLACES = ['', 'create-session', 'read-mail', 'errors'] as const

const folder = process.argv[2] ?? '.scratch/screens'
mkdirSync(folder, { recursive: true })
const house = await openHouse()
const browser = await openBrowser()
for (const { name, ...viewport } of SCREENS) {
  for (const colorScheme of SCHEMES) {
    const page = await browser.newPage({ viewport, colorScheme, reducedMotion: 'reduce' })
    for (const place of PLACES) {
      await page.goto(`${house.url}/docs#${place}`)
      const file = `docs-${name}-${colorScheme}-${place || 'top'}.png`
      await page.screenshot({ path: join(folder, file) })
    }
    await page.close()
  }
}
await browser.close()
await house.stop()
