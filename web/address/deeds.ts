import { signal } from '@preact/signals'
import { Refusal } from '../site/ask.ts'
import { facts } from '../site/facts.ts'
import { timeWords } from '../site/time-words.ts'
import { tell } from '../site/told.ts'
import { say } from '../site/words.ts'
import { gone } from './countdown.ts'
import { extensionSeconds, isFull, type Mailbox } from './mailbox.ts'
import { choose, ended, forget, keepMailbox, mailboxes } from './mailboxes.ts'
import { sessions, type Wish } from './sessions.ts'
import { ListFull, type Trouble, troubleOf } from './trouble.ts'

/** Why the last deed failed, or why there is no address yet. */
export const trouble = signal<Trouble | undefined>(undefined)
/** True while one is being done that began with a button of the bar. */
export const busy = signal(false)

/** A new address, kept and shown. Throws Refusal, Unreachable or ListFull, for the caller to report. */
export async function createAddress(wish: Wish): Promise<Mailbox> {
  // The token in this list is the only way into a mailbox: none is pushed out by another.
  if (isFull(mailboxes.value, Date.now())) throw new ListFull()
  const mailbox = await sessions.create(wish)
  keepMailbox(mailbox)
  choose(mailbox)
  return mailbox
}

/** The same from a plain button or key: what goes wrong stands in the bar. */
export async function newAddress(wish: Wish = {}): Promise<void> {
  await attempt(async () => {
    const { email } = await createAddress(wish)
    tell(say('address_told_new', { email }))
  })
}

/** One more life on top of what is left, as far as the site allows. */
export async function extend(mailbox: Mailbox): Promise<void> {
  await attempt(async () => {
    const seconds = extensionSeconds(mailbox, Date.now(), facts)
    if (seconds === undefined) {
      tell(say('address_told_longest', { time: timeWords(mailbox.expiresAt) }))
      return
    }
    const extended = await known(mailbox, () => sessions.extend(mailbox.token, seconds))
    if (!extended) return
    keepMailbox(extended)
    const gained = (extended.expiresAt.getTime() - mailbox.expiresAt.getTime()) / 1000
    const isLast = gained < facts.life - 60
    const time = timeWords(extended.expiresAt)
    tell(say(isLast ? 'address_told_longest' : 'address_told_kept', { time }))
  })
}

/** One that is over comes back to who held it, empty. */
export async function haveBack(mailbox: Mailbox): Promise<void> {
  await attempt(async () => {
    const revived = await known(mailbox, () => sessions.extend(mailbox.token))
    if (!revived) return
    keepMailbox(revived)
    choose(revived)
    tell(say('address_told_back', { email: revived.email }))
  })
}

/** Ends it now, for good. Throws Refusal or Unreachable. */
export async function remove(mailbox: Mailbox): Promise<void> {
  try {
    await sessions.end(mailbox.token)
  } catch (fault) {
    // Over already: that is what was asked for.
    if (!(fault instanceof Refusal && fault.status === 401)) throw fault
  }
  forget(mailbox)
  if (trouble.value?.kind === 'list_full') trouble.value = undefined
  tell(say('address_told_removed', { email: mailbox.email }))
}

/** Undefined when the server knows this token no more, or keeps its address for nobody. */
async function known(
  mailbox: Mailbox,
  operation: () => Promise<Mailbox>,
): Promise<Mailbox | undefined> {
  try {
    return await operation()
  } catch (fault) {
    if (!(fault instanceof Refusal && fault.status === 401)) throw fault
    gone.value = mailbox.token
    ended(mailbox)
    return undefined
  }
}

async function attempt(operation: () => Promise<void>): Promise<void> {
  // Until there is a first address, that one is on its way.
  if (busy.value || trouble.value?.byItself) return
  busy.value = true
  try {
    await operation()
    trouble.value = undefined
  } catch (fault) {
    trouble.value = { ...troubleOf(fault), again: () => void attempt(operation) }
  } finally {
    busy.value = false
  }
}
