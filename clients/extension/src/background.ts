import { fillPage } from './actions.ts'
import { ApiError, sentenceOf } from './api.ts'
import { browser, type Sender } from './browser.ts'
import { pollDue } from './mail.ts'
import { contentRequests, pageRequests } from './requests.ts'
import { registerSites, sendToAllPages, startInPages } from './sites.ts'
import { protectStorage } from './store.ts'
import { t } from './texts.ts'
import { siteOf } from './urls.ts'

// Listeners are registered at once: an event starts this script when it was stopped.

protectStorage()
browser.runtime.onInstalled.addListener(register)
browser.runtime.onStartup.addListener(register)
browser.permissions.onAdded.addListener(({ origins = [] }) => {
  registerSites()
  void startInPages(origins)
})
browser.permissions.onRemoved.addListener(() => {
  registerSites()
  void sendToAllPages({ type: 'reload-state' })
})
browser.storage.onChanged.addListener((changes) => {
  if (!('servers' in changes)) return
  registerSites()
  // The host of a server has no button.
  void sendToAllPages({ type: 'reload-state' })
})
browser.alarms.onAlarm.addListener(() => void pollDue())
browser.contextMenus.onClicked.addListener(({ frameId, frameUrl }, tab) => {
  if (tab) void fillPage(tab, { frameId, frameUrl, isHere: true })
})
browser.commands.onCommand.addListener((_command, tab) => {
  if (tab) void fillPage(tab)
})
browser.runtime.onMessage.addListener((message, sender, respond) => {
  handleRequest(message as { type: string }, sender).then(
    (value) => respond({ value }),
    (error) => respond({ error: sentenceOf(error) }),
  )
  return true
})

/** At each start, too: the browser may have another language now. */
function register(): void {
  void browser.contextMenus.removeAll().then(() => {
    const item = { id: 'fill-address', title: t('fill_new'), contexts: ['editable'] }
    browser.contextMenus.create(item)
  })
  registerSites()
}

async function handleRequest(message: { type: string }, sender: Sender): Promise<unknown> {
  const { url = '', frameId } = sender
  if (url.startsWith(browser.runtime.getURL(''))) {
    return pageRequests[message.type as keyof typeof pageRequests](message as never)
  }
  const site = siteOf(url)
  if (!site || frameId !== 0 || !Object.hasOwn(contentRequests, message.type)) {
    throw new ApiError(t('error_no_access'), 'no_access')
  }
  const handle = contentRequests[message.type as keyof typeof contentRequests]
  return handle(message as never, { url, site })
}
