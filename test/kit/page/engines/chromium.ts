import type { Page } from 'playwright-core'
import { launchBrowser } from '../browser.ts'
import { type Driver, type Seen, type StartEngine, WINDOW } from './driver.ts'

export const startChromium: StartEngine = async (proxyPort, seen) => {
  const browser = await launchBrowser([`--proxy-server=127.0.0.1:${proxyPort}`])
  return {
    async open() {
      const context = await browser.newContext({ viewport: WINDOW, reducedMotion: 'reduce' })
      const page = await context.newPage()
      record(page, seen)
      return { ...drive(page), close: () => context.close() }
    },
    close: () => browser.close(),
  }
}

export function record(page: Page, seen: Seen): void {
  page.on('dialog', (dialog) => {
    seen.dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  page.on('pageerror', ({ message }) => seen.errors.push(message))
}

export function drive(page: Page): Omit<Driver, 'close'> {
  return {
    goto: async (url) => void (await page.goto(url)),
    evaluate: (expression) => page.evaluate(expression),
    async click(expression) {
      const element = (await page.evaluateHandle(expression)).asElement()
      if (!element) throw new Error(`nothing to click: ${expression}`)
      await element.click()
    },
    clickAt: (x, y) => page.mouse.click(x, y),
    async press(keys) {
      for (const key of keys) await page.keyboard.press(key)
    },
    frameText: (selector) => page.frameLocator(selector).locator('body').innerText(),
    pdf: () => page.pdf(),
    screenshot: () => page.screenshot(),
  }
}
