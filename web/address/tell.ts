import { signal } from '@preact/signals'

/** What a screen reader is told about the address; the bar has its live region. */
export const told = signal('')

/** Told again when it is the same as before: a region that does not change is not read. */
export function tell(text: string): void {
  told.value = ''
  setTimeout(() => {
    told.value = text
  })
}
