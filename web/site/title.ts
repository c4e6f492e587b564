import { effect } from '@preact/signals'
import { say, type Words } from './words.ts'

/** Names the page in the reader's language, also when that changes. */
export function entitle(name: keyof Words): void {
  effect(() => {
    document.title = `${say(name)} – Mayfly`
  })
}
