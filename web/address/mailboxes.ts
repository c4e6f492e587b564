import { batch, signal } from '@preact/signals'
import { facts } from '../site/facts.ts'
import { kept } from '../site/kept.ts'
import { keptInTab } from '../site/kept-in-tab.ts'
import {
  formatStored,
  isOver,
  type Mailbox,
  parseOldList,
  parseStored,
  withMailbox,
  worthKeeping,
} from './mailbox.ts'

// Each mailbox has a key of its own: with one list for all, two tabs that write at once would lose one of theirs.
const PREFIX = 'mailbox '
const CHOSEN = 'chosen'

splitOldList()

/** Those that this browser knows, the newest first; kept over visits and shared by its tabs. */
export const mailboxes = signal<Mailbox[]>(stored())
/** The one on the page; undefined until the first is there. It may be over. */
export const current = signal<Mailbox | undefined>(firstChoice())
/** True when the browser refused to keep what we gave it: all of it is forgotten with the page. */
export const forgetful = signal(false)

/** Shows this one, here; the next visit begins with it. Other tabs stay where they are. */
export function choose(mailbox: Mailbox): void {
  current.value = mailbox
  kept.keep(CHOSEN, mailbox.email)
  keptInTab.keep(CHOSEN, mailbox.email)
}

/** Keeps one that is new, or has a new end. */
export function keepMailbox(mailbox: Mailbox): void {
  const all = withMailbox(known(), mailbox)
  // What the browser refused before is tried again.
  const isStored = (forgetful.value ? all : [mailbox]).map(store).every(Boolean)
  forgetful.value = !isStored
  if (isStored) prune()
  show(isStored ? stored() : worthKeeping(all, bounds()))
}

/** For whoever hears from the API that it is over (`session_expired`, `invalid_token`). */
export function ended(mailbox: Mailbox): void {
  const now = Date.now()
  if (isOver(mailbox, now)) return
  const over = { ...mailbox, expiresAt: new Date(now) }
  if (known().some(({ email }) => email === mailbox.email)) keepMailbox(over)
  if (current.value?.email === mailbox.email) current.value = over
}

/** Strikes it from the list; its session goes on. */
export function forget({ email }: Mailbox): void {
  kept.keep(`${PREFIX}${email}`, undefined)
  show(known().filter((one) => one.email !== email))
}

/** Takes over what another tab has kept since. */
export function readAgain(): void {
  show(known())
}

addEventListener('storage', ({ key }) => {
  if (key === null || key.startsWith(`mayfly ${PREFIX}`)) readAgain()
})

function show(all: Mailbox[]): void {
  const before = mailboxes.value
  batch(() => {
    mailboxes.value = all
    follow(before)
  })
}

/** What is on the page goes with the list: a new end, or gone. */
function follow(before: readonly Mailbox[]): void {
  const email = current.value?.email
  const found = mailboxes.value.find((one) => one.email === email)
  if (found) current.value = found
  else if (!email || before.some((one) => one.email === email)) current.value = firstChoice()
}

/** Another tab may have written since we read, but what could not be kept is known to us alone. */
function known(): Mailbox[] {
  return forgetful.value ? mailboxes.value : stored()
}

function stored(): Mailbox[] {
  const all = kept
    .names(PREFIX)
    .flatMap((name) => parseStored(kept.find(name)) ?? [])
    .sort((a, b) => b.since - a.since)
  return worthKeeping(
    all.map(({ mailbox }) => mailbox),
    bounds(),
  )
}

function store(mailbox: Mailbox): boolean {
  const name = `${PREFIX}${mailbox.email}`
  const since = parseStored(kept.find(name))?.since ?? Date.now()
  return kept.keep(name, formatStored({ mailbox, since }))
}

/** Drops those that are over and not worth keeping. Another tab may have revived one since: each is read again. */
function prune(): void {
  const worth = new Set(stored().map(({ email }) => `${PREFIX}${email}`))
  for (const name of kept.names(PREFIX).filter((one) => !worth.has(one))) {
    const found = parseStored(kept.find(name))
    if (!found || isOver(found.mailbox, Date.now())) kept.keep(name, undefined)
  }
}

/** Version 0.1 kept all of them under one key. */
function splitOldList(): void {
  const all = parseOldList(kept.find('mailboxes'))
  const now = Date.now()
  const isStored = all.map((mailbox, place) => {
    const name = `${PREFIX}${mailbox.email}`
    if (kept.find(name) !== undefined) return true
    return kept.keep(name, formatStored({ mailbox, since: now - place }))
  })
  if (isStored.every(Boolean)) kept.keep('mailboxes', undefined)
}

function bounds(): { now: number; cooldown: number } {
  return { now: Date.now(), cooldown: facts.cooldown }
}

/** That of this tab before it was loaded again, else the last one chosen anywhere, else the newest. */
function firstChoice(): Mailbox | undefined {
  const live = mailboxes.value.filter((one) => !isOver(one, Date.now()))
  const named = (name: string | undefined) => live.find(({ email }) => email === name)
  return named(keptInTab.find(CHOSEN)) ?? named(kept.find(CHOSEN)) ?? live[0]
}
