import { expect } from 'vitest'
import type { App } from '../../app/app.ts'
import { waitUntil } from '../../wait-until.ts'
import { type Driver, type Visitor, visitor } from '../engines/driver.ts'
import type { ExtensionEngine } from './engine.ts'
import type { SignUpSite } from './sign-up-site.ts'

/** A service, somebody else's site, and a browser with the extension. */
export interface Stage {
  engine: ExtensionEngine
  app: App
  site: SignUpSite
}

/** What the extension keeps. Only its own pages can read it. */
export interface Stored {
  servers?: { url: string; key?: string; domain?: string }[]
  addresses?: { id: string; server: string; email: string; token: string; site: string }[]
}

export async function readStored(engine: ExtensionEngine): Promise<Stored> {
  return (await inExtension(engine, 'chrome.storage.local.get()')) as Stored
}

export async function changeStored(engine: ExtensionEngine, values: Stored): Promise<void> {
  await inExtension(engine, `chrome.storage.local.set(${JSON.stringify(values)})`)
}

const ownPages = new WeakMap<ExtensionEngine, Promise<Driver>>()

/** The value of an expression in a page of the extension, which stays open. */
async function inExtension(engine: ExtensionEngine, expression: string): Promise<unknown> {
  const page = ownPages.get(engine) ?? openOwnPage(engine)
  ownPages.set(engine, page)
  return await (await page).evaluate(expression)
}

async function openOwnPage(engine: ExtensionEngine): Promise<Driver> {
  const tab = await engine.open()
  await tab.goto(engine.fileUrl('options.html'))
  return tab
}

/** Names a server in the options, as a person does first of all. */
export async function saveServer(
  engine: ExtensionEngine,
  { url, key = '' }: { url: string; key?: string },
): Promise<void> {
  const options = visitor(await engine.open())
  await options.goto(engine.fileUrl('options.html'))
  await options.fill('#url', url)
  if (key) await options.fill('#key', key)
  await options.click('button[type=submit]')
  await options.see('#servers li', new URL(url).host)
  await options.close()
}

export async function removeServer(engine: ExtensionEngine, url: string): Promise<void> {
  const options = visitor(await engine.open())
  await options.goto(engine.fileUrl('options.html'))
  await options.click('#servers button', `Remove: ${url}`)
  await options.gone('#servers li', url)
  await options.close()
}

/** Allows the extension to work on a site. A browser takes this only from a click. */
export async function allowSite(engine: ExtensionEngine, host: string): Promise<void> {
  const page = await engine.open()
  await page.goto(engine.fileUrl('options.html'))
  const request = `chrome.permissions.request({ origins: ['http://${host}/*'] })`
  await page.evaluate(`void document.body.prepend(Object.assign(document.createElement('button'), {
    id: 'allow', textContent: 'Allow', onclick: async () => { globalThis.allowed = await ${request} },
  }))`)
  await page.click(`document.querySelector('#allow')`)
  await waitUntil(() => page.evaluate('globalThis.allowed === true'))
  await waitUntil(() =>
    page.evaluate(
      `chrome.scripting.getRegisteredContentScripts().then((all) => all.some(({ matches }) => matches.includes('http://${host}/*')))`,
    ),
  )
  await page.close()
}

export async function returnAccess(engine: ExtensionEngine, host: string): Promise<void> {
  await inExtension(engine, `chrome.permissions.remove({ origins: ['http://${host}/*'] })`)
}

/** The popup of a tab, in a tab of its own: that of the toolbar closes when something else gets the focus. */
export async function openPopup(engine: ExtensionEngine, site: string): Promise<Visitor> {
  const tabId = await tabIdOf(engine, site)
  const popup = visitor(await engine.open())
  await popup.goto(engine.fileUrl(`popup.html?tab=${tabId}`))
  await popup.see('main button')
  return popup
}

/** The newest tab at a site that is allowed: the extension sees the addresses of no others. */
export async function tabIdOf(engine: ExtensionEngine, site: string): Promise<number> {
  const { hostname } = new URL(site)
  const query = `chrome.tabs.query({ url: 'http://${hostname}/*' })`
  const ids = (await inExtension(
    engine,
    `${query}.then((tabs) => tabs.map(({ id }) => id))`,
  )) as number[]
  const last = ids.sort((a, b) => a - b).at(-1)
  expect.assert(last, 'the site is open and allowed')
  return last
}

/** Run in the page: the first match, also in open shadow roots. */
const DEEP = `(selector) => {
  const search = (root) => root.querySelector(selector)
    ?? [...root.querySelectorAll('*')].map((one) => one.shadowRoot && search(one.shadowRoot)).find(Boolean)
    ?? null
  return search(document)
}`

/** An expression for the first element that matches, also in open shadow roots. */
export const deep = (selector: string): string => `(${DEEP})(${JSON.stringify(selector)})`

export const fieldValue = async (tab: Driver, selector: string): Promise<string> =>
  String(await tab.evaluate(`${deep(selector)}?.value ?? ''`))

type Kind = 'address' | 'code' | 'note'

const HOST = (kind: Kind) => `document.querySelector('[data-mayfly=${kind}]')`

/** Where a click belongs: the middle of the button, or the first row of an offered code. */
export async function placeOf(tab: Driver, kind: Kind): Promise<[number, number] | undefined> {
  const box = (await tab.evaluate(`(() => {
    const box = ${HOST(kind)}?.getBoundingClientRect()
    return box?.width ? [box.left, box.top, box.width, box.height] : null
  })()`)) as [number, number, number, number] | null
  if (!box) return undefined
  const [left, top, width, height] = box
  return kind === 'address' ? [left + width / 2, top + height / 2] : [left + 24, top + 20]
}

export async function waitForButton(tab: Driver, kind: Kind): Promise<[number, number]> {
  let place: [number, number] | undefined
  await waitUntil(async () => {
    place = await placeOf(tab, kind)
    return place
  })
  expect.assert(place)
  return place
}

/** Clicks the button until that had its effect: the first half second of its life it ignores clicks. */
export async function clickButton(
  tab: Driver,
  kind: Kind,
  hadEffect: () => Promise<boolean>,
): Promise<void> {
  await waitForButton(tab, kind)
  await waitUntil(async () => {
    if (await hadEffect()) return true
    const place = await placeOf(tab, kind)
    if (place) await tab.clickAt(...place)
    return await hadEffect()
  })
}
