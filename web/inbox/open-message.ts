import { computed, effect, signal } from '@preact/signals'
import { isLoaded, messages, visibleMessages } from './messages.ts'

/** The message in the reader, by its id. It is a step of the history, so that Back leads to the list. */
const openId = signal(messageIdIn(history.state))

export const openedMessage = computed(() => messages.value.find(({ id }) => id === openId.value))
/** The neighbours in the list as it is shown. */
export const newerId = computed(() => neighbour(-1))
export const olderId = computed(() => neighbour(1))

/** Where the list was scrolled to when a message took its place. */
export const listScrollTop = signal(0)

/** The browser is on its way to the list and will tell when it is there. */
let isGoingBack = false

export function openMessage(id: number): void {
  // From message to message is no new step: one Back leads to the list.
  if (messageIdIn(history.state) === undefined) history.pushState({ message: id }, '')
  else if (!isGoingBack) history.replaceState({ message: id }, '')
  showMessage(id)
}

/** Back to the list. */
export function closeMessage(): void {
  openId.value = undefined
  if (isGoingBack || messageIdIn(history.state) === undefined) return
  isGoingBack = true
  history.back()
}

function onNavigation(id: number | undefined): void {
  const meanwhile = isGoingBack ? openId.value : undefined
  isGoingBack = false
  if (meanwhile === undefined || id !== undefined) showMessage(id)
  // Opened before the list was reached: its step begins there.
  else openMessage(meanwhile)
}

export function startHistory(): void {
  // The list and the message are one page to the browser: it would scroll one as the other was.
  history.scrollRestoration = 'manual'
  addEventListener('popstate', ({ state }) => onNavigation(messageIdIn(state)))
  effect(() => {
    // Deleted meanwhile, here or elsewhere, or of another mailbox.
    if (!openedMessage.value && isLoaded.value && openId.value !== undefined) closeMessage()
  })
}

function showMessage(id: number | undefined): void {
  if (openId.value === undefined) listScrollTop.value = scrollY
  openId.value = id
}

function neighbour(step: 1 | -1): number | undefined {
  const place = visibleMessages.value.findIndex(({ id }) => id === openId.value)
  return place < 0 ? undefined : visibleMessages.value[place + step]?.id
}

function messageIdIn(state: unknown): number | undefined {
  const { message } = (state ?? {}) as { message?: unknown }
  return typeof message === 'number' ? message : undefined
}
