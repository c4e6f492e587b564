import { signal } from '@preact/signals'
import { localStore } from '../site/storage.ts'
import { clockAhead } from './mailbox.ts'

const STORAGE_KEY = 'clock'

/** How far the clock of this device is ahead of the server's, in milliseconds; at first as at the last visit. */
export const msAhead = signal(Number(localStore.get(STORAGE_KEY)) || 0)

let isMeasured = false

/** False until a response has shown how far the clock is off. */
export function isClockKnown(): boolean {
  return isMeasured
}

/** Expiry times are compared with this, so that they are right even if the clock of the device is wrong. */
export function serverNow(): number {
  return Date.now() - msAhead.value
}

/** What was measured at the last visit may no longer be true. */
export function remeasureClock(date: string | null): void {
  if (!isMeasured && msAhead.peek() !== 0) measureClock(date)
}

/** `date`: the Date header of a response that has just arrived. */
export function measureClock(date: string | null): void {
  const ahead = clockAhead(new Date(date ?? Number.NaN), new Date())
  if (ahead === undefined) return
  isMeasured = true
  msAhead.value = ahead
  localStore.set(STORAGE_KEY, ahead === 0 ? undefined : String(ahead))
}
