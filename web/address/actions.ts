import { effect, signal } from '@preact/signals'
import { announce, announceQuietly } from '../site/announce.ts'
import { ApiError, isReachable, NetworkError } from '../site/api-client.ts'
import { copyText, outcomeText } from '../site/copy-button.tsx'
import { formatDateTime, formatWait } from '../site/format.ts'
import { t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import { parseJson, tabStore } from '../site/storage.ts'
import { canRestore, isCurrentExpired, unrecoverableToken } from './countdown.ts'
import { extensionSeconds, extensionText, isListFull, MAX_LIVE, type Mailbox } from './mailbox.ts'
import {
  currentMailbox,
  mailboxes,
  markExpired,
  noteSettings,
  removeMailbox,
  saveMailbox,
  selectMailbox,
} from './mailboxes.ts'
import { serverNow } from './server-clock.ts'
import { type SessionSettings, sessionApi } from './session-api.ts'

/** Why the last action failed, or why there is no address yet. */
export const failure = signal<Failure | undefined>(undefined)
export function dismissFailure(): void {
  failure.value = undefined
}

// Once the server responds again, an error about that is out of date.
effect(() => {
  const { kind, automatic } = failure.peek() ?? {}
  const isOver = kind === 'offline' || kind === 'unreachable' || kind === 'busy'
  if (isReachable.value && isOver && !automatic) dismissFailure()
})
/** True while an action of the address bar is running. */
export const busy = signal(false)

/** Creates, stores and shows an address. Throws ApiError, NetworkError or TooManyMailboxes. */
export async function createMailbox(parameters?: Record<string, string>): Promise<Mailbox> {
  // The stored token is the only way into a mailbox, so none is ever evicted for a new one.
  if (isListFull(mailboxes.value, serverNow())) throw new TooManyMailboxes()
  const mailbox = await sessionApi.create(parameters)
  saveMailbox(mailbox)
  selectMailbox(mailbox)
  return mailbox
}

/** For buttons and shortcuts: a failure is shown in the address bar. */
export async function newAddress(): Promise<void> {
  await runAction(async () => {
    const { email } = await createMailbox()
    announceQuietly(t('address_created', { email }))
  })
}

/** Adds one lifetime, up to the limit of the site. */
export async function extend(mailbox: Mailbox): Promise<void> {
  await runAction(async () => {
    const seconds = extensionSeconds(mailbox, serverNow(), siteConfig)
    if (seconds === undefined) {
      announce(t('address_at_max', { time: formatDateTime(mailbox.expiresAt) }))
      return
    }
    const extended = await unlessGone(mailbox, () => sessionApi.extend(mailbox.token, seconds))
    if (!extended) return
    saveMailbox({ ...mailbox, ...extended })
    const gained = (extended.expiresAt.getTime() - mailbox.expiresAt.getTime()) / 1000
    announce(
      t(extensionText(seconds, gained, siteConfig), { time: formatDateTime(extended.expiresAt) }),
    )
  })
}

/** Restores an expired address, without its mail. */
export async function restore(mailbox: Mailbox): Promise<void> {
  await runAction(async () => {
    const restored = await unlessGone(mailbox, () => sessionApi.extend(mailbox.token))
    if (!restored) return
    const labelled = { ...mailbox, ...restored }
    saveMailbox(labelled)
    selectMailbox(labelled)
    announce(t('address_restored', { email: restored.email }))
  })
}

/** Throws ApiError or NetworkError. */
export async function changeSettings(mailbox: Mailbox, values: SessionSettings): Promise<void> {
  noteSettings(mailbox, await sessionApi.update(mailbox.token, values))
}

/** For a button: a failure is shown in the address bar. */
export async function labelAddress(mailbox: Mailbox, label: string): Promise<void> {
  await runAction(() => changeSettings(mailbox, { label }))
}

/** Throws ApiError or NetworkError. */
export async function deleteMailbox(mailbox: Mailbox): Promise<void> {
  try {
    await sessionApi.delete(mailbox.token)
  } catch (error) {
    // Expired already.
    if (!isUnauthorised(error)) throw error
  }
  removeMailbox(mailbox)
  rememberDeleted(mailbox.email)
  if (failure.value?.kind === 'list_full') failure.value = undefined
  announce(t('address_deleted', { email: mailbox.email }))
}

const DELETED = 'deleted'

/** Until this tab is closed: nothing else of a deleted address stays in the browser. */
function rememberDeleted(email: string): void {
  const until = Date.now() + siteConfig.cooldown * 1000
  tabStore.set(DELETED, JSON.stringify({ ...deletedAddresses(), [email]: until }))
}

/** Until when an address is reserved that was deleted in this tab. */
export function reservedUntil(email: string): Date | undefined {
  const until = deletedAddresses()[email]
  return typeof until === 'number' && until > Date.now() ? new Date(until) : undefined
}

function deletedAddresses(): Record<string, unknown> {
  const value = parseJson(tabStore.get(DELETED))
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Undefined if the server no longer knows the token or the cool-down of the address has ended. */
async function unlessGone(
  mailbox: Mailbox,
  operation: () => Promise<Mailbox>,
): Promise<Mailbox | undefined> {
  try {
    return await operation()
  } catch (error) {
    if (!isUnauthorised(error)) throw error
    unrecoverableToken.value = mailbox.token
    markExpired(mailbox)
    return undefined
  }
}

function isUnauthorised(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401
}

async function runAction(operation: () => Promise<void>): Promise<void> {
  // The first address is still being created.
  if (busy.value || failure.value?.automatic) return
  busy.value = true
  try {
    await operation()
    failure.value = undefined
  } catch (error) {
    failure.value = { ...failureFrom(error), retry: () => void runAction(operation) }
  } finally {
    busy.value = false
  }
}

/** Shown on the copy button for a moment. */
export const copyOutcome = signal<'copied' | 'marked' | undefined>(undefined)

const SHOWN_MS = 3_000
let timer: ReturnType<typeof setTimeout> | undefined

/** Copies the address, or selects it where the clipboard is not available. */
export async function copyAddress(): Promise<void> {
  if (!currentMailbox.value) return
  // Mail to it is rejected, so nobody should hand it out.
  if (isCurrentExpired.value)
    return announce(t(canRestore.value ? 'address_expired' : 'address_gone'))
  const element = document.getElementById('address') ?? undefined
  const outcome = await copyText(currentMailbox.value.email, element)
  copyOutcome.value = outcome
  announce(outcome === 'copied' ? t('address_copied') : outcomeText(outcome))
  clearTimeout(timer)
  timer = setTimeout(() => {
    copyOutcome.value = undefined
  }, SHOWN_MS)
}

/** This browser has MAX_LIVE live addresses. */
export class TooManyMailboxes extends Error {}

export interface Failure {
  kind: 'offline' | 'unreachable' | 'limited' | 'busy' | 'gmail' | 'list_full' | 'other'
  retrySeconds: number | undefined
  /** From the server. */
  message: string
  /** Retried without being asked to. */
  automatic?: boolean
  /** Retries now. */
  retry(): void
}

const FAILURE_KINDS: Record<string, Failure['kind']> = {
  rate_limited: 'limited',
  overloaded: 'busy',
  shutting_down: 'busy',
  internal: 'busy',
  timeout: 'unreachable',
  gmail_unavailable: 'gmail',
}

/** Any other error is a bug and is thrown. */
export function failureFrom(error: unknown): FailureCause {
  if (error instanceof NetworkError) {
    const kind = navigator.onLine ? 'unreachable' : 'offline'
    return { kind, retrySeconds: undefined, message: '' }
  }
  if (error instanceof TooManyMailboxes)
    return { kind: 'list_full', retrySeconds: undefined, message: '' }
  if (!(error instanceof ApiError)) throw error
  const { code, retrySeconds, message } = error
  return { kind: FAILURE_KINDS[code] ?? 'other', retrySeconds, message }
}

export function failureText({ kind, retrySeconds, message, automatic }: FailureCause): string {
  if (kind === 'list_full') return listFullText()
  const text = kind === 'other' ? t('address_rejected', { message }) : t(`address_${kind}`)
  if (retrySeconds === undefined) return text
  const time = formatWait(retrySeconds)
  return `${text} ${t(automatic ? 'site_retrying_in' : 'site_try_again_in', { time })}`
}

export function listFullText(): string {
  return t('address_list_full', { most: MAX_LIVE })
}

type FailureCause = Omit<Failure, 'retry'>
