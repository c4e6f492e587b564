import { type Signal, signal } from '@preact/signals'

/** What has just happened, for eyes and screen readers. */
export const announcement = signal('')
/** What only a screen reader is told: eyes see it by themselves. */
export const quietAnnouncement = signal('')

const SHOWN_MS = 6_000
const timers = new Map<Signal<string>, ReturnType<typeof setTimeout>>()

export function announce(text: string): void {
  show(announcement, text)
}

export function announceQuietly(text: string): void {
  show(quietAnnouncement, text)
}

/** Emptied first: a live region that does not change is not read again. */
function show(place: Signal<string>, text: string): void {
  clearTimeout(timers.get(place))
  place.value = ''
  const show = setTimeout(() => {
    place.value = text
    const clear = setTimeout(() => {
      place.value = ''
    }, SHOWN_MS)
    timers.set(place, clear)
  })
  timers.set(place, show)
}
