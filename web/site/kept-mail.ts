import { signal } from '@preact/signals'
import type { Message } from './api.ts'
import { localStore } from './storage.ts'

const STORAGE_KEY = 'keep'

/** Whether this browser can keep anything for reading offline: not over plain http. */
export const canKeep = 'caches' in globalThis && 'serviceWorker' in navigator

/** Whether opened messages are kept on this device; chosen by the user. */
export const keepsTexts = signal(canKeep && localStore.get(STORAGE_KEY) === 'on')

export function setKeepsTexts(on: boolean): void {
  keepsTexts.value = on
  localStore.set(STORAGE_KEY, on ? 'on' : undefined)
}

// Another tab.
addEventListener('storage', ({ key, newValue }) => {
  if (key === `mayfly ${STORAGE_KEY}`) keepsTexts.value = canKeep && newValue === 'on'
})

/** Messages kept for reading offline. */
interface KeptMessages {
  save(token: string, message: Message): void
  find(token: string, id: number): Promise<Message | undefined>
}

/** Undefined until it is loaded. */
export const keptMessages = signal<KeptMessages | undefined>(undefined)
