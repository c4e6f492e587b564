import { type Signal, signal } from '@preact/signals'

/** Shown as a toast and read by screen readers. */
export const announcement = signal('')
/** Read by screen readers only, for what is visible anyway. */
export const quietAnnouncement = signal('')

const SHOWN_MS = 6_000
const timers = new Map<Signal<string>, ReturnType<typeof setTimeout>>()

export function announce(text: string): void {
  show(announcement, text)
}

export function announceQuietly(text: string): void {
  show(quietAnnouncement, text)
}

/** Cleared first: a live region is read again only if it changes. */
function show(region: Signal<string>, text: string): void {
  clearTimeout(timers.get(region))
  region.value = ''
  const set = setTimeout(() => {
    region.value = text
    const clear = setTimeout(() => {
      region.value = ''
    }, SHOWN_MS)
    timers.set(region, clear)
  })
  timers.set(region, set)
}
