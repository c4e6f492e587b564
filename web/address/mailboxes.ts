import { batch, signal } from '@preact/signals'
import { facts } from '../site/facts.ts'
import { kept } from '../site/kept.ts'
import { keptInTab } from '../site/kept-in-tab.ts'
import { isOver, type Mailbox, parseMailboxes, withMailbox, writeMailboxes } from './mailbox.ts'

const SHELF = 'mailboxes'
const CHOSEN = 'chosen'

/** Those that this browser knows, the newest first; kept over visits and shared by its tabs. */
export const mailboxes = signal<Mailbox[]>(shelf())
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
  write(withMailbox(known(), mailbox, bounds()))
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
  write(known().filter((one) => one.email !== email))
}

/** Takes over what another tab has kept since. */
export function readAgain(): void {
  const before = mailboxes.value
  batch(() => {
    mailboxes.value = shelf()
    follow(before)
  })
}

addEventListener('storage', ({ key }) => {
  if (key === null || key === `mayfly ${SHELF}`) readAgain()
})

function write(all: Mailbox[]): void {
  const before = mailboxes.value
  batch(() => {
    mailboxes.value = all
    forgetful.value = !kept.keep(SHELF, writeMailboxes(all))
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
  return forgetful.value ? mailboxes.value : shelf()
}

function shelf(): Mailbox[] {
  return parseMailboxes(kept.find(SHELF), bounds())
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
