import { count } from './key-view.ts'

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** `1.5 MB`: 1 KB is 1,024 bytes, as in the settings. */
export function bytesShown(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024
    unit += 1
  }
  return `${count(Math.round(value * 10) / 10)} ${UNITS[unit]}`
}

/** `2 messages (1.5 MB)` */
export function volumeShown({ messages, bytes }: { messages: number; bytes: number }): string {
  const noun = messages === 1 ? 'message' : 'messages'
  return `${count(messages)} ${noun} (${bytesShown(bytes)})`
}
