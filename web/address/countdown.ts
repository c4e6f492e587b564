import { computed, effect, signal } from '@preact/signals'
import { announce } from '../site/announce.ts'
import { ApiError, NetworkError } from '../site/api-client.ts'
import { formatDuration, nextChangeMs } from '../site/format.ts'
import { language, loadLanguage, t } from '../site/i18n.ts'
import { isExpired, isPermanent, type Mailbox } from './mailbox.ts'
import { currentMailbox, mailboxes, saveMailbox } from './mailboxes.ts'
import { serverNow } from './server-clock.ts'
import { sessionApi } from './session-api.ts'

/** By the clock of the server; updated whenever a displayed duration changes. */
export const now = signal(serverNow())
/** Token of an address that cannot be restored any more. */
export const unrecoverableToken = signal<string | undefined>(undefined)

export const isCurrentExpired = computed(
  () => currentMailbox.value !== undefined && isExpired(currentMailbox.value, now.value),
)

/** False once the server no longer knows the current address, which was deleted or expired long ago. */
export const canRestore = computed(() => unrecoverableToken.value !== currentMailbox.value?.token)

/** `23 hr 59 min`; of an address that stays, that it does. */
export function timeLeftText(mailbox: Mailbox): string {
  if (isPermanent(mailbox)) return t('address_permanent')
  return formatDuration(mailbox.expiresAt.getTime() - now.value, language.value)
}

const MAX_TICK_MS = 60_000
let timer: ReturnType<typeof setTimeout> | undefined

export function startCountdown(): void {
  effect(tick)
  // Timers are throttled while the page is hidden.
  document.addEventListener('visibilitychange', tick)
  // In the user's language.
  void loadLanguage().then(() => effect(announceExpiry))
  effect(() => {
    if (isCurrentExpired.value && currentMailbox.value) void confirmExpiry(currentMailbox.value)
  })
}

function tick(): void {
  clearTimeout(timer)
  const time = serverNow()
  now.value = time
  const shown = [...mailboxes.value, ...(currentMailbox.value ? [currentMailbox.value] : [])]
  const delays = shown
    .map(({ expiresAt }) => expiresAt.getTime() - time)
    .filter((left) => left > 0)
    .map(nextChangeMs)
  timer = setTimeout(tick, Math.min(MAX_TICK_MS, ...delays))
}

const WARNING_MS = 5 * 60_000
let warnedToken: string | undefined

export function isEndingSoon({ expiresAt }: Mailbox): boolean {
  return expiresAt.getTime() - now.value <= WARNING_MS
}

/** Warns once, for screen readers too; also if the page is opened only then. */
function announceExpiry(): void {
  if (!currentMailbox.value) return
  const { token, expiresAt } = currentMailbox.value
  // `now` may lag behind the clock: an address deleted a moment ago has expired.
  const left = expiresAt.getTime() - Math.max(now.value, serverNow())
  if (left > WARNING_MS && warnedToken === token) warnedToken = undefined
  if (left > WARNING_MS || left <= 0 || warnedToken === token) return
  warnedToken = token
  const minutes = Math.ceil(left / 60_000)
  const time = formatDuration(minutes * 60_000, language.peek(), 'long')
  announce(t('address_expires_soon', { time }))
}

/** It may have been extended on another device, or be gone for good. */
async function confirmExpiry(mailbox: Mailbox): Promise<void> {
  try {
    const found = await sessionApi.find(mailbox.token)
    if (!isExpired(found, serverNow())) saveMailbox(found)
  } catch (error) {
    if (error instanceof ApiError) {
      if (error.code === 'invalid_token') unrecoverableToken.value = mailbox.token
    } else if (!(error instanceof NetworkError)) throw error
  }
}
