import { signal } from '@preact/signals'
import { copyText } from '../site/copy-button.tsx'
import { tell } from '../site/told.ts'
import { say } from '../site/words.ts'
import { isCurrentOver } from './countdown.ts'
import { current } from './mailboxes.ts'

/** What the copy button says of the last attempt, for a moment. */
export const copied = signal<'copied' | 'marked' | undefined>(undefined)

const SHOWN_MS = 3_000
let timer: ReturnType<typeof setTimeout> | undefined

/** Copies the address on the page; where there is no clipboard it is marked, to be copied by hand. */
export async function copyAddress(): Promise<void> {
  if (!current.value) return
  // Mail for it would be refused: nobody is to give it away.
  if (isCurrentOver.value) return tell(say('address_over'))
  const place = document.getElementById('address') ?? undefined
  const outcome = await copyText(current.value.email, place)
  copied.value = outcome
  tell(outcome === 'copied' ? say('address_told_copied') : say('site_marked'))
  clearTimeout(timer)
  timer = setTimeout(() => {
    copied.value = undefined
  }, SHOWN_MS)
}
