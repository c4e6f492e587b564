import { computed, effect, signal } from '@preact/signals'
import { Refusal, Unreachable } from '../site/ask.ts'
import { nextChangeMs, spanWords } from '../site/time-words.ts'
import { tell } from '../site/told.ts'
import { language, say } from '../site/words.ts'
import { isOver, type Mailbox } from './mailbox.ts'
import { current, keepMailbox, mailboxes } from './mailboxes.ts'
import { sessions } from './sessions.ts'

/** Moves on whenever the words for what is left are others. */
export const now = signal(Date.now())
/** The token of an address that is over for good: nobody can have it back. */
export const gone = signal<string | undefined>(undefined)

/** True when the address on the page takes no mail any more. */
export const isCurrentOver = computed(
  () => current.value !== undefined && isOver(current.value, now.value),
)

/** In the reader's words: 23 hr 59 min. */
export function leftWords({ expiresAt }: Mailbox): string {
  return spanWords(expiresAt.getTime() - now.value, language.value)
}

const LONGEST_PAUSE_MS = 60_000
let timer: ReturnType<typeof setTimeout> | undefined

/** Counts down from now on. */
export function startCountdown(): void {
  effect(() => {
    tick(mailboxes.value, current.value)
  })
  // Timers of a page in the background sleep.
  document.addEventListener('visibilitychange', () => tick(mailboxes.peek(), current.peek()))
  effect(warn)
  effect(() => {
    if (isCurrentOver.value && current.value) void learnEnd(current.value)
  })
}

function tick(known: readonly Mailbox[], shown: Mailbox | undefined): void {
  clearTimeout(timer)
  const time = Date.now()
  now.value = time
  const lefts = [...known, ...(shown ? [shown] : [])].map(({ expiresAt }) => +expiresAt - time)
  const pauses = lefts.filter((left) => left > 0).map(nextChangeMs)
  timer = setTimeout(
    () => tick(mailboxes.peek(), current.peek()),
    Math.min(LONGEST_PAUSE_MS, ...pauses),
  )
}

const WARNED_MS = 5 * 60_000
let warnable: string | undefined

/** Once, a while before the end: who does not see the time hears of it. */
function warn(): void {
  if (!current.value) return
  const { token, expiresAt } = current.value
  // One that was ended a moment ago is over by the clock before it is by the last tick.
  const left = expiresAt.getTime() - Math.max(now.value, Date.now())
  if (left > WARNED_MS) warnable = token
  if (left > WARNED_MS || left <= 0 || warnable !== token) return
  warnable = undefined
  const time = spanWords(WARNED_MS, language.peek(), 'long')
  tell(say('address_told_soon', { time }))
}

/** By our count it is over; it may have been extended elsewhere, and may be gone for good. */
async function learnEnd(mailbox: Mailbox): Promise<void> {
  try {
    const found = await sessions.look(mailbox.token)
    if (!isOver(found, Date.now())) keepMailbox(found)
  } catch (fault) {
    if (fault instanceof Refusal) {
      if (fault.code === 'invalid_token') gone.value = mailbox.token
    } else if (!(fault instanceof Unreachable)) throw fault
  }
}
