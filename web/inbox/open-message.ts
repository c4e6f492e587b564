import { batch, computed, effect, signal } from '@preact/signals'
import type { Mailbox } from '../address/mailbox.ts'
import { currentMailbox, selectMailbox } from '../address/mailboxes.ts'
import { matchesMedia } from '../site/media.ts'
import { isLoaded, messages } from './messages.ts'
import { type Row, rowKey, visibleRows } from './rows.ts'

/** The open message is a history entry, so that Back leads to the list. */
const openId = signal(messageIdIn(history.state))

export const openedMessage = computed(() => messages.value.find(({ id }) => id === openId.value))
/** True also while the list with the message is being loaded. */
export const isReading = computed(() => openId.value !== undefined)
/** In the list. */
export const openedKey = computed(() => {
  const [mailbox, message] = [currentMailbox.value, openedMessage.value]
  return mailbox && message && rowKey(mailbox, message.id)
})
export const newer = computed(() => neighbour(-1))
export const older = computed(() => neighbour(1))

// Too narrow or too low for list and reader side by side. The style sheets of inbox and reader have the same condition.
const hasOnePane = matchesMedia('(max-width: 48rem), (max-height: 30rem)')

/** Chosen by the user, where there is room for two panes. */
export const isFullWindow = signal(false)
/** The open message is all that is shown. */
export const isAlone = computed(
  () => openedMessage.value !== undefined && (hasOnePane.value || isFullWindow.value),
)

export function isOnePane(): boolean {
  return hasOnePane.value
}

export function toggleFullWindow(): void {
  if (openedMessage.value && !hasOnePane.value) isFullWindow.value = !isFullWindow.value
}

/** Opens a message of any address, which is shown from now on. */
export function openMessageOf(mailbox: Mailbox, id: number): void {
  batch(() => {
    if (mailbox.email !== currentMailbox.peek()?.email) selectMailbox(mailbox)
    openMessage(id)
  })
}

/** Scroll position of the list before a message replaced it. */
export const listScrollTop = signal(0)

/** history.back() was called and popstate has not fired yet. */
let isGoingBack = false

export function openMessage(id: number): void {
  // One entry for any number of messages: a single Back leads to the list.
  if (messageIdIn(history.state) === undefined) history.pushState({ message: id }, '')
  else if (!isGoingBack) history.replaceState({ message: id }, '')
  showMessage(id)
}

export function closeMessage(): void {
  showMessage(undefined)
  if (isGoingBack || messageIdIn(history.state) === undefined) return
  isGoingBack = true
  history.back()
}

function onNavigation(id: number | undefined): void {
  const openedMeanwhile = isGoingBack ? openId.value : undefined
  isGoingBack = false
  if (openedMeanwhile === undefined || id !== undefined) showMessage(id)
  // Opened before popstate: it needs an entry of its own.
  else openMessage(openedMeanwhile)
}

export function startHistory(): void {
  // To the browser list and message are one page: it would restore the wrong scroll position.
  history.scrollRestoration = 'manual'
  addEventListener('popstate', ({ state }) => onNavigation(messageIdIn(state)))
  effect(() => {
    // Deleted meanwhile, or from another mailbox.
    if (!openedMessage.value && isLoaded.value && openId.value !== undefined) closeMessage()
  })
}

function showMessage(id: number | undefined): void {
  if (openId.value === undefined) listScrollTop.value = scrollY
  if (id === undefined) isFullWindow.value = false
  openId.value = id
}

function neighbour(step: 1 | -1): Row | undefined {
  const index = visibleRows.value.findIndex(({ key }) => key === openedKey.value)
  return index < 0 ? undefined : visibleRows.value[index + step]
}

function messageIdIn(state: unknown): number | undefined {
  const { message } = (state ?? {}) as { message?: unknown }
  return typeof message === 'number' ? message : undefined
}
