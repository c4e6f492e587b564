import { signal } from '@preact/signals'
import { announce } from '../site/announce.ts'
import { ApiError, NetworkError } from '../site/api-client.ts'
import { copyText } from '../site/copy-button.tsx'
import { formatDateTime, formatWait } from '../site/format.ts'
import { t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import { isCurrentExpired, unrecoverableToken } from './countdown.ts'
import { extensionSeconds, isListFull, MAX_LIVE, type Mailbox } from './mailbox.ts'
import {
  currentMailbox,
  mailboxes,
  markExpired,
  removeMailbox,
  saveMailbox,
  selectMailbox,
} from './mailboxes.ts'
import { type NewMailboxOptions, sessionApi } from './session-api.ts'

/** Why the last deed failed, or why there is no address yet. */
export const failure = signal<Failure | undefined>(undefined)
/** True while one is being done that began with a button of the bar. */
export const busy = signal(false)

/** A new address, kept and shown. Throws Refusal, Unreachable or ListFull, for the caller to report. */
export async function createMailbox(wish: NewMailboxOptions): Promise<Mailbox> {
  // The token in this list is the only way into a mailbox: none is pushed out by another.
  if (isListFull(mailboxes.value, Date.now())) throw new TooManyMailboxes()
  const mailbox = await sessionApi.create(wish)
  saveMailbox(mailbox)
  selectMailbox(mailbox)
  return mailbox
}

/** The same from a plain button or key: what goes wrong stands in the bar. */
export async function newAddress(wish: NewMailboxOptions = {}): Promise<void> {
  await runAction(async () => {
    const { email } = await createMailbox(wish)
    announce(t('address_told_new', { email }))
  })
}

/** One more life on top of what is left, as far as the site allows. */
export async function extend(mailbox: Mailbox): Promise<void> {
  await runAction(async () => {
    const seconds = extensionSeconds(mailbox, Date.now(), siteConfig)
    if (seconds === undefined) {
      announce(t('address_told_longest', { time: formatDateTime(mailbox.expiresAt) }))
      return
    }
    const extended = await unlessGone(mailbox, () => sessionApi.extend(mailbox.token, seconds))
    if (!extended) return
    saveMailbox(extended)
    const gained = (extended.expiresAt.getTime() - mailbox.expiresAt.getTime()) / 1000
    const isLast = gained < siteConfig.life - 60
    const time = formatDateTime(extended.expiresAt)
    announce(t(isLast ? 'address_told_longest' : 'address_told_kept', { time }))
  })
}

/** One that is over comes back to who held it, empty. */
export async function restore(mailbox: Mailbox): Promise<void> {
  await runAction(async () => {
    const revived = await unlessGone(mailbox, () => sessionApi.extend(mailbox.token))
    if (!revived) return
    saveMailbox(revived)
    selectMailbox(revived)
    announce(t('address_told_back', { email: revived.email }))
  })
}

/** Ends it now, for good. Throws Refusal or Unreachable. */
export async function deleteMailbox(mailbox: Mailbox): Promise<void> {
  try {
    await sessionApi.delete(mailbox.token)
  } catch (fault) {
    // Over already: that is what was asked for.
    if (!(fault instanceof ApiError && fault.status === 401)) throw fault
  }
  removeMailbox(mailbox)
  if (failure.value?.kind === 'list_full') failure.value = undefined
  announce(t('address_told_removed', { email: mailbox.email }))
}

/** Undefined when the server knows this token no more, or keeps its address for nobody. */
async function unlessGone(
  mailbox: Mailbox,
  operation: () => Promise<Mailbox>,
): Promise<Mailbox | undefined> {
  try {
    return await operation()
  } catch (fault) {
    if (!(fault instanceof ApiError && fault.status === 401)) throw fault
    unrecoverableToken.value = mailbox.token
    markExpired(mailbox)
    return undefined
  }
}

async function runAction(operation: () => Promise<void>): Promise<void> {
  // Until there is a first address, that one is on its way.
  if (busy.value || failure.value?.automatic) return
  busy.value = true
  try {
    await operation()
    failure.value = undefined
  } catch (fault) {
    failure.value = { ...failureFrom(fault), again: () => void runAction(operation) }
  } finally {
    busy.value = false
  }
}

/** What the copy button says of the last attempt, for a moment. */
export const copyOutcome = signal<'copied' | 'marked' | undefined>(undefined)

const SHOWN_MS = 3_000
let timer: ReturnType<typeof setTimeout> | undefined

/** Copies the address on the page; where there is no clipboard it is marked, to be copied by hand. */
export async function copyAddress(): Promise<void> {
  if (!currentMailbox.value) return
  // Mail for it would be refused: nobody is to give it away.
  if (isCurrentExpired.value) return announce(t('address_over'))
  const place = document.getElementById('address') ?? undefined
  const outcome = await copyText(currentMailbox.value.email, place)
  copyOutcome.value = outcome
  announce(outcome === 'copied' ? t('address_told_copied') : t('site_marked'))
  clearTimeout(timer)
  timer = setTimeout(() => {
    copyOutcome.value = undefined
  }, SHOWN_MS)
}

/** This browser has as many live addresses as it keeps. */
export class TooManyMailboxes extends Error {}

/** Why something could not be done, and when it is worth trying again. */
export interface Failure {
  kind: 'offline' | 'unreachable' | 'too_many' | 'busy' | 'gmail' | 'list_full' | 'other'
  retrySeconds: number | undefined
  /** The server's own words. */
  message: string
  /** True when it is tried again without being asked. */
  automatic?: boolean
  /** Tries again now. */
  again(): void
}

const FAILURE_KINDS: Record<string, Failure['kind']> = {
  rate_limited: 'too_many',
  overloaded: 'busy',
  shutting_down: 'busy',
  internal: 'busy',
  timeout: 'unreachable',
  gmail_unavailable: 'gmail',
}

/** Any other error is a fault of this page, and rises. */
export function failureFrom(fault: unknown): FailureCause {
  if (fault instanceof NetworkError) {
    const kind = navigator.onLine ? 'unreachable' : 'offline'
    return { kind, retrySeconds: undefined, message: '' }
  }
  if (fault instanceof TooManyMailboxes)
    return { kind: 'list_full', retrySeconds: undefined, message: '' }
  if (!(fault instanceof ApiError)) throw fault
  const { code, retrySeconds, message } = fault
  return { kind: FAILURE_KINDS[code] ?? 'other', retrySeconds, message }
}

export function failureText({ kind, retrySeconds, message, automatic }: FailureCause): string {
  if (kind === 'list_full') return listFullText()
  const what = kind === 'other' ? t('address_refused', { message }) : t(`address_${kind}`)
  if (retrySeconds === undefined) return what
  const when = t(automatic ? 'address_trying' : 'address_try_in', {
    time: formatWait(retrySeconds),
  })
  return `${what} ${when}`
}

export function listFullText(): string {
  return t('address_list_full', { most: MAX_LIVE })
}

type FailureCause = Omit<Failure, 'again'>
