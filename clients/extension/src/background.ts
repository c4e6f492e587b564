import {
  createAddress,
  deleteAddress,
  extend,
  fillPage,
  findAddress,
  makeDefault,
  markUsed,
  openInPage,
  openLink,
  popupState,
  removeServer,
  saveServer,
  sentenceOf,
} from './actions.ts'
import { listDomains } from './api.ts'
import { browser, type Sender } from './browser.ts'
import { offerOf, pollDue, refresh, showBadge, watchAddress } from './mail.ts'
import type { ContentRequests, PageRequests } from './messages.ts'
import { greetPages, registerSites, sendToPage } from './sites.ts'
import { protectStorage, readData } from './store.ts'
import { t } from './texts.ts'
import { patternOf, siteOf } from './urls.ts'

// Listeners are registered at once: an event starts this script when it was stopped.

protectStorage()
browser.runtime.onInstalled.addListener(() => {
  void browser.contextMenus.removeAll().then(() => {
    const item = { id: 'fill-address', title: t('fill_new'), contexts: ['editable'] }
    browser.contextMenus.create(item)
  })
  registerSites()
})
browser.runtime.onStartup.addListener(registerSites)
browser.permissions.onAdded.addListener(({ origins = [] }) => {
  registerSites()
  void greetPages(origins)
})
browser.permissions.onRemoved.addListener(registerSites)
browser.storage.onChanged.addListener((changes) => {
  if ('servers' in changes) registerSites()
})
browser.alarms.onAlarm.addListener(() => void pollDue())
browser.contextMenus.onClicked.addListener(({ frameId }, tab) => {
  if (tab) void fillPage(tab, { frameId, isHere: true })
})
browser.commands.onCommand.addListener((_command, tab) => {
  if (tab) void fillPage(tab)
})
browser.runtime.onMessage.addListener((message, sender, respond) => {
  answer(message as { type: string }, sender).then(
    (value) => respond({ value }),
    (error) => respond({ error: sentenceOf(error) }),
  )
  return true
})

/** Offered again in the next page of a form that has several. */
const OFFERED_AGAIN = 10 * 60_000

type Handlers<
  Requests extends { [Type in keyof Requests]: { request: object; answer: unknown } },
  Where,
> = {
  [Type in keyof Requests]: (
    request: Requests[Type]['request'],
    where: Where,
  ) => Promise<Requests[Type]['answer']>
}

const contentHandlers: Handlers<ContentRequests, { url: string; site: string }> = {
  async hello(_request, { url, site }) {
    const { addresses } = await readData()
    const address = addresses.find((one) => one.site === site)
    const latest = address?.latest
    const isRecent = latest && !latest.isUsed && latest.at > Date.now() - OFFERED_AGAIN
    return {
      isAllowed: await browser.permissions.contains({ origins: [patternOf(url)] }),
      offer: address && isRecent ? offerOf(address, latest) : null,
    }
  },
  async 'new-address'(_request, { site }) {
    const { servers } = await readData()
    if (servers.length === 0) await browser.runtime.openOptionsPage()
    return (await createAddress(site)).email
  },
  async used({ id }, { site }) {
    await requireSite(id, site)
    await markUsed(id)
    return null
  },
  async 'open-link'({ id }, { site }) {
    await requireSite(id, site)
    await openLink(id)
    return null
  },
}

/** A page has a say only about its own addresses. */
async function requireSite(id: string, site: string): Promise<void> {
  if ((await findAddress(id)).site !== site) throw new Error(t('error_expired'))
}

const done = <Result>(action: Promise<Result>) => action.then(() => null)

const pageHandlers: Handlers<PageRequests, undefined> = {
  state: ({ tabId }) => popupState(tabId),
  async refresh({ tabId }) {
    const { site, addresses } = await popupState(tabId)
    const here = addresses.find((one) => one.site === site && one.expiresAt > Date.now())
    await showBadge('')
    try {
      await refresh()
    } finally {
      // Who looks at it waits for mail. Not awaited: so does the request.
      if (here) void watchAddress(here.id)
    }
    return null
  },
  async create({ tabId, ...choice }) {
    const { site = '' } = await popupState(tabId)
    const { email } = await createAddress(site, choice)
    // A page without a field, or of the browser itself: the address can be copied.
    const isFilled =
      tabId !== undefined &&
      (await sendToPage(tabId, { type: 'fill', email }).catch(() => false)) === true
    return { email, isFilled }
  },
  async 'fill-code'({ tabId, id }) {
    const { latest } = await findAddress(id)
    await requireSite(id, (await popupState(tabId)).site ?? '')
    const code = latest?.code ?? ''
    const isFilled = await sendToPage(tabId, { type: 'fill-code', code }).catch(() => false)
    if (isFilled === true) await markUsed(id)
    return isFilled === true
  },
  used: ({ id }) => done(markUsed(id)),
  'open-link': ({ id }) => done(openLink(id)),
  open: ({ id }) => done(openInPage(id)),
  extend: ({ id }) => done(extend(id)),
  delete: ({ id }) => done(deleteAddress(id)),
  domains: ({ server }) => listDomains(server),
  servers: async () => (await readData()).servers,
  'save-server': ({ server, former }) => done(saveServer(server, former)),
  'default-server': ({ url }) => done(makeDefault(url)),
  'remove-server': ({ url }) => done(removeServer(url)),
}

async function answer(message: { type: string }, sender: Sender): Promise<unknown> {
  const { url = '', frameId } = sender
  if (url.startsWith(browser.runtime.getURL(''))) {
    const handler = pageHandlers[message.type as keyof PageRequests]
    return handler(message as never, undefined)
  }
  const site = siteOf(url)
  if (!site || frameId !== 0 || !Object.hasOwn(contentHandlers, message.type)) {
    throw new Error(t('error_no_access'))
  }
  const handler = contentHandlers[message.type as keyof ContentRequests]
  return handler(message as never, { url, site })
}
