import { type Signal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import { say } from './words.ts'

interface CopyButtonProps {
  text: string
  /** What is marked where there is no clipboard: the reader copies it by hand. Nothing: the text is not on the page. */
  marks?: RefObject<HTMLElement | null>
  /** What a screen reader is told is copied, where the word alone would not do. */
  label?: string
  class?: string
}

const SHOWN_MS = 4_000

/** Copies, and says so. */
export function CopyButton({ text, marks, label, class: look = 'plain' }: CopyButtonProps) {
  const said = useSignal<Outcome>('ready')
  useEffect(() => {
    if (said.value === 'ready') return
    const timer = setTimeout(() => {
      said.value = 'ready'
    }, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [said.value])
  // Another text is not copied yet.
  useEffect(() => {
    said.value = 'ready'
  }, [text])
  const words = WORDS[said.value]()
  return (
    <>
      <button
        type="button"
        class={look}
        aria-label={label && `${words}: ${label}`}
        onClick={() => void copy(text, marks?.current ?? undefined, said)}
      >
        {words}
      </button>
      <span class="unseen" role="status">
        {said.value === 'ready' ? '' : words}
      </span>
    </>
  )
}

type Outcome = 'ready' | 'copied' | 'marked'

const WORDS: Record<Outcome, () => string> = {
  ready: () => say('site_copy'),
  copied: () => say('site_copied'),
  marked: () => say('site_marked'),
}

async function copy(text: string, marks: HTMLElement | undefined, said: Signal<Outcome>) {
  said.value = await copyText(text, marks)
}

/** Without https there is no clipboard: then the text is marked, to be copied by hand. */
export async function copyText(text: string, marks?: HTMLElement): Promise<'copied' | 'marked'> {
  try {
    await navigator.clipboard.writeText(text)
    return 'copied'
  } catch {
    if (marks) getSelection()?.selectAllChildren(marks)
    return 'marked'
  }
}
