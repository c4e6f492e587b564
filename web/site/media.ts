import { type ReadonlySignal, signal } from '@preact/signals'

/** Whether a media query matches now. */
export function matchesMedia(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query)
  const matches = signal(list.matches)
  list.addEventListener('change', () => {
    matches.value = list.matches
  })
  return matches
}
