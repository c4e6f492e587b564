import {
  ApiError,
  type Choice,
  checkServer,
  createSession,
  deleteSession,
  extendSession,
  isGone,
  sentenceOf,
} from './api.ts'
import { browser, type Tab } from './browser.ts'
import { endWatch, offerInPages, offerOf, showBadge, watchAddress } from './mail.ts'
import type { AddressView, Offered, PopupState } from './messages.ts'
import { isAllowed, sendToAllPages, sendToPage } from './sites.ts'
import { type Address, changeData, type Data, type Found, readData, type Server } from './store.ts'
import { t } from './texts.ts'
import { patternOf, siteOf } from './urls.ts'

// What a person can do, from wherever.

const DAY = 86_400_000
/** As long as an expired address can be restored on most servers. */
const KEPT_EXPIRED = 30 * DAY

export async function createAddress(
  site: string,
  { server: url, ...choice }: Choice & { server?: string } = {},
): Promise<Address> {
  const data = await readData()
  const server = data.servers.find((one) => one.url === (url ?? serversFor(data, site)[0]))
  if (!server) throw new ApiError(t('error_no_servers'), 'no_servers')
  const session = await createSession(server, site, choice)
  const address: Address = {
    id: crypto.randomUUID(),
    server: server.url,
    email: session.email,
    token: session.token,
    site,
    expiresAt: session.expiresAt,
    isPermanent: session.permanent === true,
    lastId: 0,
  }
  await changeData((stored) => {
    // By both clocks: that of this device may have jumped ahead, or always be behind. NaN keeps all.
    const end = Math.min(Date.now(), session.serverNow) - KEPT_EXPIRED
    stored.addresses = [address, ...stored.addresses.filter((one) => !(one.expiresAt <= end))]
  }).catch(async (error: unknown) => {
    // The storage is full: nobody would ever have the token.
    await deleteSession(address).catch(() => undefined)
    throw error
  })
  // Not awaited: it waits for mail.
  void watchAddress(address.id)
  return address
}

/** The server of the newest address at this site comes first, else the default one. */
function serversFor({ servers, addresses }: Data, site: string | undefined): string[] {
  const urls = servers.map(({ url }) => url)
  const last = addresses.find((one) => one.site === site && urls.includes(one.server))?.server
  return last ? [last, ...urls.filter((url) => url !== last)] : urls
}

/** From the context menu (then it is about the field that has the focus, whatever it is) or the keyboard. */
export async function fillPage(
  { id, url }: Tab,
  {
    frameId = 0,
    frameUrl,
    isHere = false,
  }: { frameId?: number | undefined; frameUrl?: string | undefined; isHere?: boolean } = {},
): Promise<void> {
  // A frame may be of another site; without a URL of its own it is of the page's.
  const site = siteOf(frameUrl) ?? siteOf(url)
  if (id === undefined || !site) return showBadge('!')
  const { servers } = await readData()
  if (servers.length === 0) return browser.runtime.openOptionsPage()
  try {
    const noField = () => new ApiError(t('error_no_field'), 'no_field')
    const isThere = await sendToPage(id, { type: 'find', site, isHere }, frameId)
    if (!isThere) throw noField()
    const { email } = await createAddress(site)
    const isFilled = await sendToPage(id, { type: 'fill', site, email }, frameId)
    if (!isFilled) throw noField()
  } catch (error) {
    const text = sentenceOf(error)
    await sendToPage(id, { type: 'note', text }).catch(() => showBadge('!'))
  }
}

export async function popupState(tabId: number | undefined): Promise<PopupState> {
  const data = await readData()
  const url = tabId === undefined ? undefined : (await browser.tabs.get(tabId)).url
  const site = siteOf(url)
  return {
    site,
    isAllowed: url && site ? await isAllowed(url) : undefined,
    servers: serversFor(data, site),
    addresses: data.addresses.map(viewOf),
  }
}

function viewOf(address: Address): AddressView {
  const { id, email, site, expiresAt, isPermanent, isUnknown = false, latest } = address
  const view = { id, email, site, expiresAt, isPermanent, isUnknown }
  return latest ? { ...view, offer: offerOf(address, latest) } : view
}

export async function findAddress(id: string): Promise<Address> {
  const { addresses } = await readData()
  const address = addresses.find((one) => one.id === id)
  if (!address) throw new ApiError(t('error_expired'), 'gone')
  return address
}

/** Also restores an address that has expired. */
export async function extend({ id }: { id: string }): Promise<void> {
  const { expiresAt } = await extendSession(await findAddress(id))
  await changeData(({ addresses }) => {
    const address = addresses.find((one) => one.id === id)
    if (address) address.expiresAt = expiresAt
  })
  // Not awaited: it waits for mail.
  void watchAddress(id)
}

/** Only here if the server no longer knows it. The server of an expired address, or one that was removed, may be gone for good. */
export async function deleteAddress({ id }: { id: string }): Promise<void> {
  const address = await findAddress(id)
  const { servers } = await readData()
  const isExpired = !address.isPermanent && address.expiresAt <= Date.now()
  const isLost = isExpired || !servers.some(({ url }) => url === address.server)
  await deleteSession(address).catch((error: ApiError) => {
    if (!isLost && !isGone(error.code)) throw error
  })
  await endWatch(id)
  await changeData((data) => {
    data.addresses = data.addresses.filter((one) => one.id !== id)
  })
  await showBadge('')
  await sendToAllPages({ type: 'end-offer', id })
}

/** In the page of its server, which asks before it takes the token from the fragment. */
export async function openInPage({ id }: { id: string }): Promise<void> {
  const { server, token } = await findAddress(id)
  await browser.tabs.create({ url: `${server}/#open=${token}` })
}

/** The message that was offered; undefined if a newer one has arrived, which is then offered. */
export async function findOffered({ id, messageId }: Offered): Promise<Found | undefined> {
  const address = await findAddress(id)
  const { latest } = address
  if (latest?.id === messageId) return latest
  if (latest && !latest.isUsed) await offerInPages(address, latest)
  return undefined
}

export async function openLink(offered: Offered): Promise<void> {
  const found = await findOffered(offered)
  if (!found?.link) return
  await markUsed(offered)
  await browser.tabs.create({ url: found.link.url })
}

export async function markUsed({ id, messageId }: Offered): Promise<void> {
  const latestIn = ({ addresses }: Data) => addresses.find((one) => one.id === id)?.latest
  if (latestIn(await readData())?.id !== messageId) return
  // First: a newer message may arrive meanwhile, with a badge of its own.
  await showBadge('')
  await changeData((data) => {
    const latest = latestIn(data)
    if (latest?.id === messageId) latest.isUsed = true
  })
  await sendToAllPages({ type: 'end-offer', id, messageId })
}

/** In place of `former`, if it was changed. Access that was granted for a server that is not saved is returned. */
export async function saveServer({
  server,
  former,
  hadAccess,
}: {
  server: Server
  former?: string | undefined
  hadAccess: boolean
}): Promise<void> {
  await checkServer(server).catch(async (error: unknown) => {
    if (!hadAccess) await returnAccess(server.url)
    throw error
  })
  await changeData((data) => {
    const others = data.servers.filter(({ url }) => url !== server.url && url !== former)
    const at = data.servers.findIndex(({ url }) => url === (former ?? server.url))
    data.servers = others.toSpliced(at < 0 ? others.length : at, 0, server)
  })
  if (former) await returnAccess(former)
}

/** The addresses stay, and can still be read, until they expire. */
export async function removeServer({ url }: { url: string }): Promise<void> {
  await changeData((data) => {
    data.servers = data.servers.filter((one) => one.url !== url)
  })
  await returnAccess(url)
}

/** Unless a server at another port of the host needs it. */
async function returnAccess(url: string): Promise<void> {
  const { servers } = await readData()
  const pattern = patternOf(url)
  const isNeeded = servers.some((server) => patternOf(server.url) === pattern)
  // Browsers refuse to give back what is in the manifest.
  if (!isNeeded) await browser.permissions.remove({ origins: [pattern] }).catch(() => undefined)
}

export async function makeDefault({ url }: { url: string }): Promise<void> {
  await changeData((data) => {
    data.servers = data.servers.toSorted((a, b) => Number(b.url === url) - Number(a.url === url))
  })
}
