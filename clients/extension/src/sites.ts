import { ApiError } from './api.ts'
import { browser } from './browser.ts'
import type { ContentCommand } from './messages.ts'
import { readData } from './store.ts'
import { t } from './texts.ts'
import { patternOf, siteOf } from './urls.ts'

/** The patterns of allowed sites: access that was granted, except to the servers. */
export async function allowedSites(): Promise<string[]> {
  const { origins = [] } = await browser.permissions.getAll()
  const { servers } = await readData()
  const ofServers = new Set(servers.map(({ url }) => patternOf(url)))
  return origins.filter((origin) => !ofServers.has(origin))
}

/** Whether the button is shown there. Undefined for the host of a server, which is reached for its mail only. */
export async function isAllowed(url: string): Promise<boolean | undefined> {
  const pattern = patternOf(url)
  const { servers } = await readData()
  if (servers.some((server) => patternOf(server.url) === pattern)) return undefined
  return browser.permissions.contains({ origins: [pattern] })
}

const SCRIPT = 'content.js'

let last: Promise<unknown> = Promise.resolve()

/** Runs the content script in every allowed site from now on, and in no other. */
export function registerSites(): void {
  const register = async () => {
    const matches = await allowedSites()
    const registered = await browser.scripting.getRegisteredContentScripts()
    if (registered.length > 0) await browser.scripting.unregisterContentScripts()
    if (matches.length === 0) return
    await browser.scripting.registerContentScripts([
      { id: 'sites', matches, js: [SCRIPT], runAt: 'document_idle' },
    ])
  }
  last = last.then(register, register)
}

/** Runs the content script in a frame where it may not run yet, and sends it a command. True if it was carried out. It rejects where we may not. */
export async function sendToPage(
  tabId: number,
  command: ContentCommand,
  frameId = 0,
): Promise<boolean> {
  const target = { tabId, frameIds: [frameId] }
  await browser.scripting.executeScript({ target, files: [SCRIPT] }).catch(() => {
    throw new ApiError(t('error_no_access'), 'no_access')
  })
  return (await browser.tabs.sendMessage(tabId, command, { frameId })) === true
}

/** Shows the button in the open pages of sites that were just allowed. */
export async function startInPages(origins: string[]): Promise<void> {
  const sites = await allowedSites()
  for (const { id, url } of await browser.tabs.query({})) {
    const pattern = siteOf(url) && url ? patternOf(url) : ''
    if (id === undefined || !origins.includes(pattern) || !sites.includes(pattern)) continue
    // Not awaited: a page that still loads does not respond.
    void sendToPage(id, { type: 'reload-state' }).catch(() => undefined)
  }
}

/** To every content script that runs. A page that we may no longer reach can still be sent a message. */
export async function sendToAllPages(command: ContentCommand): Promise<void> {
  for (const { id } of await browser.tabs.query({})) {
    if (id === undefined) continue
    // Not awaited: a tab that the browser has frozen does not respond.
    void browser.tabs.sendMessage(id, command, { frameId: 0 }).catch(() => undefined)
  }
}

/** Open pages of a site that we may reach: only those have a URL for us. */
export async function tabsOf(site: string): Promise<number[]> {
  const tabs = await browser.tabs.query({})
  return tabs.flatMap(({ id, url }) => (id !== undefined && siteOf(url) === site ? [id] : []))
}
