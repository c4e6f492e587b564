import { signal } from '@preact/signals'
import { say } from '../site/words.ts'
import { alone } from './alone.ts'
import { isOver, type Mailbox } from './mailbox.ts'
import { choose, current, keepMailbox, readAgain } from './mailboxes.ts'
import { sessions, type Wish } from './sessions.ts'
import { tell } from './tell.ts'
import { type Trouble, troubleOf } from './trouble.ts'

/** Why the last deed failed, or why there is no address yet. */
export const trouble = signal<Trouble | undefined>(undefined)
/** What is being done at the moment. */
export const busy = signal<'new' | 'extend' | undefined>(undefined)

/** An address without a click: one that is known, else a new one, sooner or later. */
export async function openAddress(): Promise<void> {
  for (let seconds = 2; !current.value; seconds = Math.min(seconds * 2, 60)) {
    try {
      await alone('opening', firstAddress)
      trouble.value = undefined
    } catch (fault) {
      const found = troubleOf(fault)
      const retrySeconds = found.retrySeconds ?? seconds
      trouble.value = { ...found, retrySeconds }
      await pauseOrWish(retrySeconds)
    }
  }
}

/** Tries again now what openAddress would try by itself. */
export function tryAgain(): void {
  wished?.()
}

let wished: (() => void) | undefined

function pauseOrWish(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      removeEventListener('online', done)
      wished = undefined
      resolve()
    }
    const timer = setTimeout(done, seconds * 1000)
    addEventListener('online', done)
    wished = done
  })
}

/** Two tabs that open at once share one address: the second finds what the first has kept. */
async function firstAddress(second: boolean): Promise<void> {
  readAgain()
  if (second && !current.value) await shelfChange()
  if (!current.value) await createAddress({})
}

const ON_ITS_WAY_MS = 1_000

/** What another tab keeps is told to this one a moment later. */
function shelfChange(): Promise<void> {
  return new Promise((resolve) => {
    const stop = current.subscribe((found) => {
      if (found) done()
    })
    const timer = setTimeout(done, ON_ITS_WAY_MS)
    function done() {
      clearTimeout(timer)
      queueMicrotask(() => stop())
      resolve()
    }
  })
}

/** A new address, kept and shown. Throws Refusal or Unreachable: for who can say it in its own place. */
export async function createAddress(wish: Wish): Promise<Mailbox> {
  const mailbox = await sessions.create(wish)
  keepMailbox(mailbox)
  choose(mailbox)
  return mailbox
}

/** The same from a plain button or key: what goes wrong stands in the bar. */
export async function newAddress(wish: Wish = {}): Promise<void> {
  if (busy.value || !current.value) return
  await attempt('new', async () => {
    const { email } = await createAddress(wish)
    tell(say('address_told_new', { email }))
  })
}

async function attempt(what: 'new' | 'extend', deed: () => Promise<void>): Promise<void> {
  busy.value = what
  try {
    await deed()
    trouble.value = undefined
  } catch (fault) {
    trouble.value = troubleOf(fault)
  } finally {
    busy.value = undefined
  }
}

export function isCurrentOver(now: number): boolean {
  return current.value !== undefined && isOver(current.value, now)
}
