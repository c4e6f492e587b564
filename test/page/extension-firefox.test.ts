import { expect, test } from 'vitest'
import { type Driver, visitor } from '../kit/page/engines/driver.ts'
import { type FirefoxWithExtension, startInFirefox } from '../kit/page/extension/firefox.ts'
import { clickBehindWindow } from '../kit/page/extension/hostile.ts'
import { allowSite, fieldValue, readStored, returnAccess } from '../kit/page/extension/person.ts'
import { HOST } from '../kit/page/extension/sign-up-site.ts'
import { testExtension } from '../kit/page/extension/suite.ts'
import { waitUntil } from '../kit/wait-until.ts'

let inWindow: FirefoxWithExtension['inWindow']
const stage = testExtension(async (proxyPort, seen) => {
  const started = await startInFirefox(proxyPort, seen)
  inWindow = started.inWindow
  return started
})

/** Opens the menu of the field that has the focus, and chooses the item. */
async function chooseInMenu(page: Driver): Promise<void> {
  const [x, y] = (await page.evaluate(`(() => {
    const { x, y } = document.activeElement.getBoundingClientRect()
    return [x + 10, y + 10]
  })()`)) as [number, number]
  await page.clickAt(x, y, 2)
  const menu = `document.querySelector('#contentAreaContextMenu')`
  await waitUntil(() => inWindow(`${menu}.state === 'open'`))
  const item = `${menu}.querySelector('menuitem[label="Fill in a new address"]')`
  await inWindow(`void ${menu}.activateItem(${item})`)
}

const pressShortcut = () =>
  inWindow(`void document.querySelector('key[modifiers="alt,shift"][key=M]').doCommand()`)

test.each([
  ['menu', chooseInMenu],
  ['shortcut', pressShortcut],
])('on a site that is not allowed, the %s fills in an address', async (_, choose) => {
  const { engine, site } = stage()
  const page = visitor(await engine.open())
  await page.goto(`${site.otherOrigin}/form`)
  await page.click('#email')
  await choose(page)
  await waitUntil(async () => (await fieldValue(page, '#email')).includes('@'))
  const { addresses = [] } = await readStored(engine)
  expect(addresses[0]?.site).toBe(site.otherOrigin)
  await page.close()
})

// Chromium is told that every page has the focus, so that tests can run side by side.
test('a click behind a window of the page fills nothing', () => clickBehindWindow(stage()))

test('access that is taken back removes the button from open pages', async () => {
  const { engine, site } = stage()
  const page = visitor(await engine.open())
  await page.goto(`${site.origin}/form`)
  await page.click('#email')
  await page.see('[data-mayfly=address]')
  await returnAccess(engine, HOST)
  await page.gone('[data-mayfly]')
  await page.close()
  await allowSite(engine, HOST)
})
