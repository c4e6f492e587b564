import { signal } from '@preact/signals'
import { keptInTab } from '../site/kept-in-tab.ts'

const NAME = 'key'

/** The key that the reader gave, until this tab is closed. */
export const heldKey = signal<string>(keptInTab.find(NAME) ?? '')

export function holdKey(key: string): void {
  heldKey.value = key
  keptInTab.keep(NAME, key === '' ? undefined : key)
}
