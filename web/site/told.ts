import { signal } from '@preact/signals'

/** What has just happened, for a screen reader. */
export const told = signal('')
/** The same for everybody, for a moment. */
export const toldSeen = signal('')

const SEEN_MS = 5_000
let timer: ReturnType<typeof setTimeout> | undefined

/** Told again when it is the same as before: a region that does not change is not read. */
export function announce(text: string, { seen = false } = {}): void {
  told.value = ''
  setTimeout(() => {
    told.value = text
  })
  if (!seen) return
  toldSeen.value = text
  clearTimeout(timer)
  timer = setTimeout(() => {
    toldSeen.value = ''
  }, SEEN_MS)
}
