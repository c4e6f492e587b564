import { type Signal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import { t } from './i18n.ts'

interface CopyButtonProps {
  text: string
  /** What is marked where there is no clipboard: the reader copies it by hand. Nothing: the text is not on the page. */
  textRef?: RefObject<HTMLElement | null>
  /** What a screen reader is told is copied, where the word alone would not do. */
  label?: string
  class?: string
}

const SHOWN_MS = 4_000

/** Copies, and says so. */
export function CopyButton({ text, textRef, label, class: className = 'plain' }: CopyButtonProps) {
  const outcome = useSignal<Outcome>('ready')
  useEffect(() => {
    if (outcome.value === 'ready') return
    const timer = setTimeout(() => {
      outcome.value = 'ready'
    }, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [outcome.value])
  // Another text is not copied yet.
  useEffect(() => {
    outcome.value = 'ready'
  }, [text])
  const words = WORDS[outcome.value]()
  return (
    <>
      <button
        type="button"
        class={className}
        aria-label={label && `${words}: ${label}`}
        onClick={() => void copy(text, textRef?.current ?? undefined, outcome)}
      >
        {words}
      </button>
      <span class="unseen" role="status">
        {outcome.value === 'ready' ? '' : words}
      </span>
    </>
  )
}

type Outcome = 'ready' | 'copied' | 'marked'

const WORDS: Record<Outcome, () => string> = {
  ready: () => t('site_copy'),
  copied: () => t('site_copied'),
  marked: () => t('site_marked'),
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
