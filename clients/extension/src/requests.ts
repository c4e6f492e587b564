import {
  createAddress,
  deleteAddress,
  extend,
  findAddress,
  findOffered,
  makeDefault,
  markUsed,
  openInPage,
  openLink,
  popupState,
  removeServer,
  saveServer,
} from './actions.ts'
import { ApiError, listDomains } from './api.ts'
import { browser } from './browser.ts'
import { offerOf, pollDue, refresh, showBadge, watchAddress } from './mail.ts'
import type { ContentCommand, Offered } from './messages.ts'
import { isAllowed, sendToPage } from './sites.ts'
import { readData } from './store.ts'
import { t } from './texts.ts'

// What the other scripts ask of the background script. Tokens are in none of it: an address is named by its id.

type TabId = number | undefined

/** Offered again in the next page of a form that has several. */
const OFFERED_AGAIN = 10 * 60_000

/** Requests of a content script, with the page it runs in. */
export const contentRequests = {
  async 'page-state'(_request: object, { url, site }: { url: string; site: string }) {
    const { addresses } = await readData()
    const since = Date.now() - OFFERED_AGAIN
    const address = addresses.find(
      (one) => one.site === site && one.latest?.isUsed === false && one.latest.at > since,
    )
    return {
      isAllowed: (await isAllowed(url)) === true,
      offer: address?.latest ? offerOf(address, address.latest) : null,
    }
  },
  async 'new-address'(_request: object, { url, site }: { url: string; site: string }) {
    if (!(await isAllowed(url))) throw new ApiError(t('error_no_access'), 'no_access')
    const { servers } = await readData()
    if (servers.length === 0) await browser.runtime.openOptionsPage()
    return (await createAddress(site)).email
  },
  async used(offered: Offered, { site }: { site: string }) {
    await requireSite(offered.id, site)
    await markUsed(offered)
  },
  async 'open-link'(offered: Offered, { site }: { site: string }) {
    await requireSite(offered.id, site)
    await openLink(offered)
  },
}

/** A page has a say only about its own addresses. */
async function requireSite(id: string, site: string): Promise<void> {
  if ((await findAddress(id)).site !== site) throw new ApiError(t('error_expired'), 'gone')
}

/** Requests of the popup and the options. */
export const pageRequests = {
  state: ({ tabId }: { tabId: TabId }) => popupState(tabId),
  async refresh({ tabId }: { tabId: TabId }) {
    const { site, addresses } = await popupState(tabId)
    const here = addresses.find((one) => one.site === site && one.expiresAt > Date.now())
    await showBadge('')
    try {
      await refresh(site)
    } finally {
      // Who looks at it waits for mail. Not awaited: so does the request. Both also poll what became due meanwhile.
      void (here ? watchAddress(here.id) : pollDue())
    }
  },
  async create({
    tabId,
    ...choice
  }: {
    tabId: TabId
    server: string
    prefix: string
    domain: string
  }) {
    const { site = '' } = await popupState(tabId)
    // A page without a field, or of the browser itself: the address can be copied.
    const send = async (command: ContentCommand) =>
      tabId !== undefined && (await sendToPage(tabId, command).catch(() => false))
    await send({ type: 'find', site })
    const { email } = await createAddress(site, choice)
    return { email, isFilled: await send({ type: 'fill', site, email }) }
  },
  async 'fill-code'({ tabId, ...offered }: Offered & { tabId: number }) {
    const { site = '' } = await popupState(tabId)
    await requireSite(offered.id, site)
    const found = await findOffered(offered)
    // The popup shows the newer one.
    if (!found) return undefined
    const fill = { type: 'fill-code', site, code: found.code ?? '' } as const
    const isFilled = await sendToPage(tabId, fill).catch(() => false)
    if (isFilled) await markUsed(offered)
    return isFilled
  },
  used: markUsed,
  'open-link': openLink,
  open: openInPage,
  extend,
  delete: deleteAddress,
  domains: ({ server }: { server: string }) => listDomains(server),
  servers: async (_request: object) => (await readData()).servers,
  'save-server': saveServer,
  'default-server': makeDefault,
  'remove-server': removeServer,
}
