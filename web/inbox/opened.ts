import { computed, effect, signal } from '@preact/signals'
import { known, messages, shown } from './mail.ts'

/** The message in the reader, by its id. It is a step of the history, so that Back leads to the list. */
const openId = signal(idIn(history.state))

export const opened = computed(() => messages.value.find(({ id }) => id === openId.value))
/** The neighbours in the list as it is shown. */
export const newer = computed(() => neighbour(-1))
export const older = computed(() => neighbour(1))

/** Where the list was scrolled to when a message took its place. */
export const listAt = signal(0)

/** The browser is on its way to the list and will tell when it is there. */
let goesBack = false

export function open(id: number): void {
  // From message to message is no new step: one Back leads to the list.
  if (idIn(history.state) === undefined) history.pushState({ message: id }, '')
  else if (!goesBack) history.replaceState({ message: id }, '')
  show(id)
}

/** Back to the list. */
export function close(): void {
  openId.value = undefined
  if (goesBack || idIn(history.state) === undefined) return
  goesBack = true
  history.back()
}

function arrive(id: number | undefined): void {
  const meanwhile = goesBack ? openId.value : undefined
  goesBack = false
  if (meanwhile === undefined || id !== undefined) show(id)
  // Opened before the list was reached: its step begins there.
  else open(meanwhile)
}

export function keepOpened(): void {
  // The list and the message are one page to the browser: it would scroll one as the other was.
  history.scrollRestoration = 'manual'
  addEventListener('popstate', ({ state }) => arrive(idIn(state)))
  effect(() => {
    // Deleted meanwhile, here or elsewhere, or of another mailbox.
    if (!opened.value && known.value && openId.value !== undefined) close()
  })
}

function show(id: number | undefined): void {
  if (openId.value === undefined) listAt.value = scrollY
  openId.value = id
}

function neighbour(step: 1 | -1): number | undefined {
  const place = shown.value.findIndex(({ id }) => id === openId.value)
  return place < 0 ? undefined : shown.value[place + step]?.id
}

function idIn(state: unknown): number | undefined {
  const { message } = (state ?? {}) as { message?: unknown }
  return typeof message === 'number' ? message : undefined
}
