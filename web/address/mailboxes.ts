import { batch, signal } from '@preact/signals'
import type { SessionSettings } from '../site/api.ts'
import { siteConfig } from '../site/site-config.ts'
import { localStore, tabStore } from '../site/storage.ts'
import {
  formatStored,
  isExpired,
  type Mailbox,
  parseOldList,
  parseStored,
  retained,
  withMailbox,
} from './mailbox.ts'
import { isClockKnown, msAhead, serverNow } from './server-clock.ts'

// A storage key per mailbox: with a single list, two tabs that write at once would lose one of theirs.
const PREFIX = 'mailbox '
const SELECTED = 'chosen'

migrateOldList()

/** The mailboxes of this browser, newest first; shared by its tabs. */
export const mailboxes = signal<Mailbox[]>(readMailboxes())
/** Undefined until the first is created. It may be expired. */
export const currentMailbox = signal<Mailbox | undefined>(initialMailbox())
/** True if the browser refused to store a mailbox: it is lost with the page. */
export const storageBlocked = signal(false)

/** Shows a mailbox in this tab and on the next visit. Other tabs keep theirs. */
export function selectMailbox(mailbox: Mailbox): void {
  currentMailbox.value = mailbox
  localStore.set(SELECTED, mailbox.email)
  tabStore.set(SELECTED, mailbox.email)
}

/** Adds or updates a mailbox. */
export function saveMailbox(mailbox: Mailbox): void {
  const all = withMailbox(latestMailboxes(), mailbox)
  // Retry what the browser refused before.
  const isStored = (storageBlocked.value ? all : [mailbox]).map(writeMailbox).every(Boolean)
  storageBlocked.value = !isStored
  if (isStored) prune()
  setMailboxes(isStored ? readMailboxes() : retained(all, bounds()))
}

/** Rules of addresses, as far as they are known and have any, with how many mails they refused. */
export const rulesByAddress = signal<ReadonlyMap<string, Rules>>(new Map())

type Settings = Pick<SessionSettings, 'expires_at_iso' | 'label' | 'rules'>
export type Rules = NonNullable<SessionSettings['rules']>

/** What the server says about an address, which was as it is in `mailbox` when that was requested. */
export function noteSettings(mailbox: Mailbox, { expires_at_iso, label, rules }: Settings): void {
  const { email, token } = mailbox
  if (JSON.stringify(rules) !== JSON.stringify(rulesByAddress.peek().get(email))) {
    const others = [...rulesByAddress.peek()].filter(([other]) => other !== email)
    rulesByAddress.value = new Map(rules ? [...others, [email, rules]] : others)
  }
  const latest = mailboxes.peek().find((one) => one.email === email)
  // Extended or restored here meanwhile.
  if (latest?.token !== token || Number(latest.expiresAt) !== Number(mailbox.expiresAt)) return
  const expiresAt = new Date(expires_at_iso)
  if (Number(expiresAt) === Number(latest.expiresAt) && label === latest.label) return
  saveMailbox({ email, token, expiresAt, ...(label && { label }) })
}

/** After the API said so (`session_expired`, `invalid_token`). */
export function markExpired(mailbox: Mailbox): void {
  const now = serverNow()
  if (isExpired(mailbox, now)) return
  const expired = { ...mailbox, expiresAt: new Date(now) }
  if (latestMailboxes().some(({ email }) => email === mailbox.email)) saveMailbox(expired)
  if (currentMailbox.value?.email === mailbox.email) currentMailbox.value = expired
}

/** Removes it from the list; the session itself goes on. */
export function removeMailbox({ email }: Mailbox): void {
  localStore.set(`${PREFIX}${email}`, undefined)
  for (const store of [localStore, tabStore]) {
    if (store.get(SELECTED) === email) store.set(SELECTED, undefined)
  }
  setMailboxes(latestMailboxes().filter((one) => one.email !== email))
}

/** Picks up changes of other tabs. */
export function reloadMailboxes(): void {
  setMailboxes(latestMailboxes())
}

addEventListener('storage', ({ key }) => {
  if (key === null || key.startsWith(`mayfly ${PREFIX}`)) reloadMailboxes()
})

// Other mailboxes are live than the clock seemed to say.
msAhead.subscribe(reloadMailboxes)

/** Updates the current mailbox with the list: it may have a new expiry time, or be gone. */
function setMailboxes(all: Mailbox[]): void {
  const before = mailboxes.value
  const email = currentMailbox.value?.email
  const isCurrent = (one: Mailbox) => one.email === email
  batch(() => {
    mailboxes.value = all
    const updated = all.find(isCurrent)
    if (updated) currentMailbox.value = updated
    else if (!email || before.some(isCurrent)) currentMailbox.value = initialMailbox()
  })
}

/** From storage, where other tabs write too; but only memory has what could not be stored. */
function latestMailboxes(): Mailbox[] {
  return storageBlocked.value ? mailboxes.value : readMailboxes()
}

/** Also one that has expired. */
export function isStored(email: string): boolean {
  return localStore.get(`${PREFIX}${email}`) !== undefined
}

function readMailboxes(): Mailbox[] {
  const stored = localStore
    .keys(PREFIX)
    .flatMap((name) => parseStored(localStore.get(name)) ?? [])
    .sort((a, b) => b.since - a.since)
  return retained(
    stored.map(({ mailbox }) => mailbox),
    bounds(),
  )
}

function writeMailbox(mailbox: Mailbox): boolean {
  const name = `${PREFIX}${mailbox.email}`
  const since = parseStored(localStore.get(name))?.since ?? Date.now()
  return localStore.set(name, formatStored({ mailbox, since }))
}

/** Removes expired mailboxes that are not retained. Each is read again: another tab may have restored it. */
function prune(): void {
  // By a wrong clock, live ones would be removed.
  if (!isClockKnown()) return
  const names = new Set(readMailboxes().map(({ email }) => `${PREFIX}${email}`))
  for (const name of localStore.keys(PREFIX).filter((one) => !names.has(one))) {
    const stored = parseStored(localStore.get(name))
    if (!stored || isExpired(stored.mailbox, serverNow())) localStore.set(name, undefined)
  }
}

/** Version 0.1 stored all mailboxes under one key. */
function migrateOldList(): void {
  const all = parseOldList(localStore.get('mailboxes'))
  const now = Date.now()
  const isStored = all.map((mailbox, index) => {
    const name = `${PREFIX}${mailbox.email}`
    if (localStore.get(name) !== undefined) return true
    return localStore.set(name, formatStored({ mailbox, since: now - index }))
  })
  if (isStored.every(Boolean)) localStore.set('mailboxes', undefined)
}

function bounds(): { now: number; cooldown: number } {
  return { now: serverNow(), cooldown: siteConfig.cooldown }
}

/** The one of this tab before a reload, else the last one selected in any tab, else the newest. */
function initialMailbox(): Mailbox | undefined {
  const live = mailboxes.value.filter((one) => !isExpired(one, serverNow()))
  const find = (wanted: string | undefined) => live.find(({ email }) => email === wanted)
  return find(tabStore.get(SELECTED)) ?? find(localStore.get(SELECTED)) ?? live[0]
}
