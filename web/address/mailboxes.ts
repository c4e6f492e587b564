import { batch, signal } from '@preact/signals'
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

// Each mailbox has a key of its own: with one list for all, two tabs that write at once would lose one of theirs.
const PREFIX = 'mailbox '
const SELECTED = 'chosen'

migrateOldList()

/** Those that this browser knows, the newest first; kept over visits and shared by its tabs. */
export const mailboxes = signal<Mailbox[]>(readMailboxes())
/** The one on the page; undefined until the first is there. It may be over. */
export const currentMailbox = signal<Mailbox | undefined>(initialMailbox())
/** True when the browser refused to keep what we gave it: all of it is forgotten with the page. */
export const storageBlocked = signal(false)

/** Shows this one, here; the next visit begins with it. Other tabs stay where they are. */
export function selectMailbox(mailbox: Mailbox): void {
  currentMailbox.value = mailbox
  localStore.set(SELECTED, mailbox.email)
  tabStore.set(SELECTED, mailbox.email)
}

/** Keeps one that is new, or has a new end. */
export function saveMailbox(mailbox: Mailbox): void {
  const all = withMailbox(latestMailboxes(), mailbox)
  // What the browser refused before is tried again.
  const isStored = (storageBlocked.value ? all : [mailbox]).map(writeMailbox).every(Boolean)
  storageBlocked.value = !isStored
  if (isStored) prune()
  setMailboxes(isStored ? readMailboxes() : retained(all, bounds()))
}

/** For whoever hears from the API that it is over (`session_expired`, `invalid_token`). */
export function markExpired(mailbox: Mailbox): void {
  const now = Date.now()
  if (isExpired(mailbox, now)) return
  const over = { ...mailbox, expiresAt: new Date(now) }
  if (latestMailboxes().some(({ email }) => email === mailbox.email)) saveMailbox(over)
  if (currentMailbox.value?.email === mailbox.email) currentMailbox.value = over
}

/** Strikes it from the list; its session goes on. */
export function removeMailbox({ email }: Mailbox): void {
  localStore.set(`${PREFIX}${email}`, undefined)
  setMailboxes(latestMailboxes().filter((one) => one.email !== email))
}

/** Takes over what another tab has kept since. */
export function reloadMailboxes(): void {
  setMailboxes(latestMailboxes())
}

addEventListener('storage', ({ key }) => {
  if (key === null || key.startsWith(`mayfly ${PREFIX}`)) reloadMailboxes()
})

function setMailboxes(all: Mailbox[]): void {
  const before = mailboxes.value
  batch(() => {
    mailboxes.value = all
    updateCurrent(before)
  })
}

/** What is on the page goes with the list: a new end, or gone. */
function updateCurrent(before: readonly Mailbox[]): void {
  const email = currentMailbox.value?.email
  const found = mailboxes.value.find((one) => one.email === email)
  if (found) currentMailbox.value = found
  else if (!email || before.some((one) => one.email === email))
    currentMailbox.value = initialMailbox()
}

/** Another tab may have written since we read, but what could not be kept is known to us alone. */
function latestMailboxes(): Mailbox[] {
  return storageBlocked.value ? mailboxes.value : readMailboxes()
}

function readMailboxes(): Mailbox[] {
  const all = localStore
    .keys(PREFIX)
    .flatMap((name) => parseStored(localStore.get(name)) ?? [])
    .sort((a, b) => b.since - a.since)
  return retained(
    all.map(({ mailbox }) => mailbox),
    bounds(),
  )
}

function writeMailbox(mailbox: Mailbox): boolean {
  const name = `${PREFIX}${mailbox.email}`
  const since = parseStored(localStore.get(name))?.since ?? Date.now()
  return localStore.set(name, formatStored({ mailbox, since }))
}

/** Drops those that are over and not worth keeping. Another tab may have revived one since: each is read again. */
function prune(): void {
  const worth = new Set(readMailboxes().map(({ email }) => `${PREFIX}${email}`))
  for (const name of localStore.keys(PREFIX).filter((one) => !worth.has(one))) {
    const found = parseStored(localStore.get(name))
    if (!found || isExpired(found.mailbox, Date.now())) localStore.set(name, undefined)
  }
}

/** Version 0.1 kept all of them under one key. */
function migrateOldList(): void {
  const all = parseOldList(localStore.get('mailboxes'))
  const now = Date.now()
  const isStored = all.map((mailbox, place) => {
    const name = `${PREFIX}${mailbox.email}`
    if (localStore.get(name) !== undefined) return true
    return localStore.set(name, formatStored({ mailbox, since: now - place }))
  })
  if (isStored.every(Boolean)) localStore.set('mailboxes', undefined)
}

function bounds(): { now: number; cooldown: number } {
  return { now: Date.now(), cooldown: siteConfig.cooldown }
}

/** That of this tab before it was loaded again, else the last one chosen anywhere, else the newest. */
function initialMailbox(): Mailbox | undefined {
  const live = mailboxes.value.filter((one) => !isExpired(one, Date.now()))
  const named = (name: string | undefined) => live.find(({ email }) => email === name)
  return named(tabStore.get(SELECTED)) ?? named(localStore.get(SELECTED)) ?? live[0]
}
