import { signal } from '@preact/signals'

/** What has just happened to the address, for eyes and screen readers. */
export const told = signal('')

const SHOWN_MS = 8_000
let timer: ReturnType<typeof setTimeout> | undefined

/** Said again when it is the same as before: a live region that does not change is not read. */
export function tell(text: string): void {
  told.value = ''
  clearTimeout(timer)
  timer = setTimeout(() => {
    told.value = text
    timer = setTimeout(() => {
      told.value = ''
    }, SHOWN_MS)
  })
}
