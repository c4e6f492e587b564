import { signal } from '@preact/signals'

/** Now, as exact as a list of mail needs it. */
export const minute = signal(new Date())

const STEP_MS = 20_000

setInterval(() => {
  minute.value = new Date()
}, STEP_MS)
