import { computed, effect, signal } from '@preact/signals'
import { announce } from '../site/announce.ts'
import { ApiError, NetworkError } from '../site/api-client.ts'
import { formatDuration, nextChangeMs } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { isExpired, type Mailbox } from './mailbox.ts'
import { currentMailbox, mailboxes, saveMailbox } from './mailboxes.ts'
import { sessionApi } from './session-api.ts'

/** Moves on whenever the words for what is left are others. */
export const now = signal(Date.now())
/** The token of an address that is over for good: nobody can have it back. */
export const unrecoverableToken = signal<string | undefined>(undefined)

/** True when the address on the page takes no mail any more. */
export const isCurrentExpired = computed(
  () => currentMailbox.value !== undefined && isExpired(currentMailbox.value, now.value),
)

/** In the reader's words: 23 hr 59 min. */
export function timeLeftText({ expiresAt }: Mailbox): string {
  return formatDuration(expiresAt.getTime() - now.value, language.value)
}

const MAX_TICK_MS = 60_000
let timer: ReturnType<typeof setTimeout> | undefined

/** Counts down from now on. */
export function startCountdown(): void {
  effect(() => {
    tick(mailboxes.value, currentMailbox.value)
  })
  // Timers of a page in the background sleep.
  document.addEventListener('visibilitychange', () => tick(mailboxes.peek(), currentMailbox.peek()))
  effect(announceExpiry)
  effect(() => {
    if (isCurrentExpired.value && currentMailbox.value) void confirmExpiry(currentMailbox.value)
  })
}

function tick(known: readonly Mailbox[], shown: Mailbox | undefined): void {
  clearTimeout(timer)
  const time = Date.now()
  now.value = time
  const lefts = [...known, ...(shown ? [shown] : [])].map(({ expiresAt }) => +expiresAt - time)
  const pauses = lefts.filter((left) => left > 0).map(nextChangeMs)
  timer = setTimeout(
    () => tick(mailboxes.peek(), currentMailbox.peek()),
    Math.min(MAX_TICK_MS, ...pauses),
  )
}

const WARNING_MS = 5 * 60_000
let tokenToWarn: string | undefined

/** Once, a while before the end: who does not see the time hears of it. */
function announceExpiry(): void {
  if (!currentMailbox.value) return
  const { token, expiresAt } = currentMailbox.value
  // One that was ended a moment ago is over by the clock before it is by the last tick.
  const left = expiresAt.getTime() - Math.max(now.value, Date.now())
  if (left > WARNING_MS) tokenToWarn = token
  if (left > WARNING_MS || left <= 0 || tokenToWarn !== token) return
  tokenToWarn = undefined
  const time = formatDuration(WARNING_MS, language.peek(), 'long')
  announce(t('address_told_soon', { time }))
}

/** By our count it is over; it may have been extended elsewhere, and may be gone for good. */
async function confirmExpiry(mailbox: Mailbox): Promise<void> {
  try {
    const found = await sessionApi.find(mailbox.token)
    if (!isExpired(found, Date.now())) saveMailbox(found)
  } catch (fault) {
    if (fault instanceof ApiError) {
      if (fault.code === 'invalid_token') unrecoverableToken.value = mailbox.token
    } else if (!(fault instanceof NetworkError)) throw fault
  }
}
