import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openBrowser, SCHEMES, SCREENS } from './browser.ts'
import { openHouse } from './house.ts'
import { FAKE_SHOP } from './shop-client.ts'

// Run by hand: node test/shop-screenshots.ts [FOLDER]

const folder = process.argv[2] ?? '.scratch/screens'
mkdirSync(folder, { recursive: true })
const shop = await openHouse({ env: FAKE_SHOP })
const byHand = await openHouse()
const browser = await openBrowser()

for (const { name, ...viewport } of SCREENS) {
  for (const colorScheme of SCHEMES) {
    const page = await browser.newPage({ viewport, colorScheme, reducedMotion: 'reduce' })
    await walk(page, async (place) => {
      await page.screenshot({
        path: join(folder, `shop-${name}-${colorScheme}-${place}.png`),
        fullPage: true,
      })
    })
    await page.close()
  }
}
await browser.close()
await shop.stop()
await byHand.stop()

/** Through the whole shop, with a stop at each of its faces. */
async function walk(page: Page, shoot: (place: string) => Promise<void>): Promise<void> {
  await page.goto(`${byHand.url}/pricing`)
  await shoot('by-hand')
  await page.goto(`${shop.url}/pricing`)
  await shoot('pricing')
  await page.getByRole('button', { name: 'Buy Business' }).click()
  await page.waitForURL('**/pay/**')
  await shoot('pay')
  const payUrl = page.url()
  await page.goto(payUrl.replace('/pay/', '/orders/'))
  await page.getByText('Waiting for the payment').waitFor()
  await shoot('open')
  await page.goto(payUrl)
  await page.getByRole('button', { name: 'Pay later' }).click()
  await page.getByText('Payment under way').waitFor()
  await shoot('pending')
  await page.goto(payUrl)
  await page.getByRole('button', { name: 'It arrives' }).click()
  await page.getByRole('button', { name: 'Show my key' }).waitFor()
  await shoot('paid')
  await page.getByRole('button', { name: 'Show my key' }).click()
  await page.getByText('This is your key').waitFor()
  await shoot('key')
  await page.goto(`${shop.url}/orders/ord_${'0'.repeat(22)}`)
  await page.getByText('does not know').waitFor()
  await shoot('stranger')
}
