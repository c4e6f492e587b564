import type { BrowserContext } from 'playwright-core'
import { expect, test } from 'vitest'
import { SCHEMES } from '../kit/page/browser.ts'
import { checkColours } from '../kit/page/contrast.ts'
import { visitor } from '../kit/page/engines/driver.ts'
import { startInChromium } from '../kit/page/extension/chromium.ts'
import { fieldValue, openPopup, readStored, tabIdOf } from '../kit/page/extension/person.ts'
import { createInPopup } from '../kit/page/extension/popup.ts'
import { HOST } from '../kit/page/extension/sign-up-site.ts'
import { testExtension } from '../kit/page/extension/suite.ts'
import { checkAccessibility } from '../kit/page/pages.ts'
import { waitUntil } from '../kit/wait-until.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

const start = startInChromium({ hosts: ['127.0.0.1', HOST] })
let context: BrowserContext
const stage = testExtension(async (proxyPort, seen) => {
  const started = await start(proxyPort, seen)
  context = started.context
  return started
})

test.runIf(LONG)('popup and options are accessible', async () => {
  const { engine, site } = stage()
  const page = await context.newPage()
  await page.goto(`${site.origin}/form`)
  const popup = `popup.html?tab=${await tabIdOf(engine, site.origin)}`
  for (const [file, part] of [
    [popup, '[data-email]'],
    ['options.html', '#servers li'],
  ] as const) {
    await page.goto(engine.fileUrl(file))
    await page.locator(part).first().waitFor()
    if (file === popup) await page.locator('summary').first().click()
    await checkAccessibility(page)
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme })
      await checkColours(page)
    }
  }
  await page.close()
})

test.runIf(LONG)(
  'elsewhere, the toolbar gives access to one page, for the menu and the shortcut, too',
  async () => {
    const { engine, site } = stage()
    const page = visitor(await engine.open())
    await page.goto(`${site.otherOrigin}/form`)
    await page.click('#email')
    const allowed = visitor(await engine.open())
    await allowed.goto(`${site.origin}/form`)
    await allowed.click('#email')
    // The button, or a code that nobody has used yet.
    await allowed.see('[data-mayfly]')
    expect(await page.has('[data-mayfly]')).toBe(false)
    await expect(openPopup(engine, site.otherOrigin)).rejects.toThrow('open and allowed')

    await context
      .pages()
      .find((one) => one.url().startsWith(site.otherOrigin))
      ?.bringToFront()
    const debugging = await context.browser()?.newBrowserCDPSession()
    expect.assert(debugging)
    const filter = [{ type: 'tab' }]
    const { targetInfos } = await debugging.send('Target.getTargets', { filter })
    const targetId = targetInfos.find(({ url }) => url.startsWith(site.otherOrigin))?.targetId ?? ''
    const id = new URL(engine.fileUrl('')).host
    await debugging.send('Extensions.triggerAction', { id, targetId })
    await waitUntil(() => tabIdOf(engine, site.otherOrigin).catch(() => undefined))
    const popup = await openPopup(engine, site.otherOrigin)
    const email = await createInPopup(stage(), popup)
    await waitUntil(async () => (await fieldValue(page, '#email')) === email)

    // What the browser does for the menu and the shortcut, which no test can reach.
    const [worker] = context.serviceWorkers()
    const tabId = await tabIdOf(engine, site.otherOrigin)
    for (const dispatch of [
      'contextMenus.onClicked.dispatch({ frameId: 0 }, tab)',
      `commands.onCommand.dispatch('fill-address', tab)`,
    ]) {
      const { addresses: [before] = [] } = await readStored(engine)
      await worker?.evaluate(`chrome.tabs.get(${tabId}).then((tab) => chrome.${dispatch})`)
      await waitUntil(async () => {
        const { addresses: [latest] = [] } = await readStored(engine)
        return latest?.id !== before?.id && (await fieldValue(page, '#email')) === latest?.email
      })
    }
    for (const tab of [popup, allowed, page]) await tab.close()
  },
)
