import { senderBadge } from '../../../src/shared/sender-display.ts'
import type { Link, Message } from '../../js/src/api.ts'
import { ApiError, checkMail, isGone, readMail, sentenceOf } from './api.ts'
import { browser } from './browser.ts'
import type { Offer } from './messages.ts'
import { sendToPage, tabsOf } from './sites.ts'
import { type Address, changeData, type Found, readData } from './store.ts'
import {
  afterPoll,
  dueWatches,
  nextAlarm,
  type Outcome,
  startWatch,
  type Watch,
  waitSeconds,
} from './watch.ts'

/** Addresses with a request under way. They end with the script, as the requests do. */
const polling = new Set<string>()

export async function watchAddress(address: string): Promise<void> {
  await changeData((data) => {
    const others = data.watches.filter((one) => one.address !== address)
    data.watches = [...others, startWatch(address, Date.now())]
  })
  await pollDue()
}

/** Asks for the mail of all addresses that are due, and for an alarm for the others. */
export async function pollDue(): Promise<void> {
  const { addresses, watches } = await readData()
  const now = Date.now()
  const alarm = nextAlarm(watches, now)
  if (alarm === undefined) await browser.alarms.clear('poll')
  else await browser.alarms.create('poll', { when: alarm })
  const addressOf = (watch: Watch) => addresses.find(({ id }) => id === watch.address)
  for (const watch of dueWatches(watches, now)) {
    const address = addressOf(watch)
    if (!address) {
      await endWatch(watch.address)
      continue
    }
    const ofServer = watches.filter((one) => addressOf(one)?.server === address.server)
    void pollWatch(address, watch, waitSeconds(watch, now, ofServer))
  }
}

async function pollWatch(address: Address, watch: Watch, wait: number): Promise<void> {
  const outcome = await poll(address, wait)
  if (!outcome) return
  await changeData((data) => {
    data.watches = data.watches.flatMap((one) => {
      if (one.address !== watch.address) return [one]
      return afterPoll(one, outcome, Date.now()) ?? []
    })
  })
  await pollDue()
}

/** More requests at once would exceed the rate limit of a server. */
const MOST_REFRESHED = 50

/** Asks once for the mail of the newest addresses, those of a site first, for the popup. Throws if a server is away. */
export async function refresh(site?: string): Promise<void> {
  const { addresses } = await readData()
  // A server that was restored from a backup may know an address again.
  const newest = addresses
    .filter((one) => one.expiresAt > Date.now() || (one.isUnknown && one.site === site))
    .toSorted((a, b) => Number(b.site === site) - Number(a.site === site))
    .slice(0, MOST_REFRESHED)
  const outcomes = await Promise.all(newest.map((address) => poll(address, 0, site)))
  for (const outcome of outcomes) {
    if (outcome && 'failed' in outcome) throw new ApiError(outcome.reason, 'refresh')
  }
}

async function poll(
  address: Address,
  wait: number,
  siteInPopup?: string,
): Promise<Outcome | undefined> {
  if (polling.has(address.id)) return undefined
  polling.add(address.id)
  try {
    const list = await checkMail(address, wait)
    const found = await findNewest(address, list.messages)
    const isStored = await changeData(({ addresses }) => {
      const stored = addresses.find(({ id }) => id === address.id)
      if (!stored) return false
      stored.lastId = list.messages[0]?.id ?? stored.lastId
      // Else it was extended meanwhile.
      if (stored.expiresAt === address.expiresAt) stored.expiresAt = list.expiresAt
      if (found) stored.latest = found
      stored.isUnknown = false
      return true
    })
    // In pages also for the popup, which may have been closed.
    if (found && isStored) await offerInPages(address, found, address.site !== siteInPopup)
    return { isNew: list.messages.length > 0, hasWaited: list.timed_out === true }
  } catch (error) {
    const { code, retryAfterMs } = error instanceof ApiError ? error : {}
    if (isGone(code)) {
      await expire(address, code === 'invalid_token')
      return undefined
    }
    return { failed: true, retryAfterMs, reason: sentenceOf(error) }
  } finally {
    polling.delete(address.id)
  }
}

/** A mailbox may get more than it needs; only the newest messages are read. */
const MOST_READ = 5

/** The newest message with a code or a link. Reading it also has it parsed. */
async function findNewest(
  address: Address,
  messages: { id: number }[],
): Promise<Found | undefined> {
  for (const { id } of messages.slice(0, MOST_READ)) {
    const message = await readMail(address, id).catch((error: ApiError) => {
      // Deleted in the page meanwhile.
      if (error.code !== 'message_not_found') throw error
    })
    const found = message && findIn(message)
    if (found && (found.code !== null || found.link)) return found
  }
  return undefined
}

function findIn({ id, code, links, auth, sender_email }: Message): Found {
  const { domain, badge } = senderBadge(sender_email, auth?.dmarc ?? 'none')
  const isConfirmation = ({ kind, url }: Link) =>
    /^(verify|sign_in)$/.test(kind) && /^https?:/.test(url) && URL.canParse(url)
  const link = badge === 'forged' ? undefined : links.find(isConfirmation)
  return {
    id,
    code,
    link: link ? { url: link.url, host: new URL(link.url).host } : null,
    ...{ sender: domain, badge, at: Date.now(), isUsed: false },
  }
}

export function offerOf(address: Address, found: Found): Offer {
  const { code, link, sender, badge } = found
  const offer = { id: address.id, messageId: found.id, code, sender, badge }
  return { ...offer, link: link && { host: link.host } }
}

export async function offerInPages(address: Address, found: Found, hasBadge = true): Promise<void> {
  if (hasBadge) await showBadge('1')
  const { site } = address
  const offer = offerOf(address, found)
  for (const tab of await tabsOf(site)) {
    // The page may have been left meanwhile; the popup has it too. Not awaited: one that is frozen or still loads does not respond.
    void sendToPage(tab, { type: 'offer', site, offer }).catch(() => undefined)
  }
}

export async function showBadge(text: string): Promise<void> {
  await browser.action.setBadgeBackgroundColor({ color: '#0b6b63' })
  await browser.action.setBadgeText({ text })
}

/** Unless it was restored while the server was asked. */
async function expire({ id, expiresAt }: Address, isUnknown: boolean): Promise<void> {
  const isOver = await changeData(({ addresses }) => {
    const address = addresses.find((one) => one.id === id)
    if (address?.expiresAt !== expiresAt) return false
    address.expiresAt = Math.min(expiresAt, Date.now())
    address.isUnknown = isUnknown
    return true
  })
  if (isOver) await endWatch(id)
}

export async function endWatch(address: string): Promise<void> {
  await changeData((data) => {
    data.watches = data.watches.filter((one) => one.address !== address)
  })
}
