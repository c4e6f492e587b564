import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { announce } from './announce.ts'
import { Button } from './controls.tsx'
import { t } from './i18n.ts'

interface CopyButtonProps {
  text: string
  /** Element with the text, to be selected where the clipboard is not available. */
  textRef?: RefObject<HTMLElement | null>
  /** For screen readers: what is copied. */
  label?: string
  class?: string
}

const SHOWN_MS = 4_000

export function CopyButton({ text, textRef, label, class: className = 'plain' }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<Outcome>('ready')
  useEffect(() => {
    if (outcome === 'ready') return
    const timer = setTimeout(() => setOutcome('ready'), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [outcome])
  useEffect(() => setOutcome('ready'), [text])
  const caption = t(CAPTIONS[outcome])
  const copy = async () => {
    setOutcome(await copyText(text, textRef?.current ?? undefined))
    // It may be about what was copied before.
    announce('')
  }
  return (
    <>
      <Button
        class={className}
        aria-label={label && `${caption}: ${label}`}
        onClick={() => void copy()}
      >
        {caption}
      </Button>
      <span class="unseen" role="status">
        {outcome === 'ready' ? '' : caption}
      </span>
    </>
  )
}

type Outcome = 'ready' | 'copied' | 'marked'

const CAPTIONS = {
  ready: 'site_copy',
  copied: 'site_copied',
  marked: 'site_marked',
} as const satisfies Record<Outcome, string>

/** The clipboard needs https. Without it the text is selected, to be copied by hand. */
export async function copyText(text: string, element?: HTMLElement): Promise<'copied' | 'marked'> {
  try {
    await navigator.clipboard.writeText(text)
    return 'copied'
  } catch {
    if (element) getSelection()?.selectAllChildren(element)
    return 'marked'
  }
}
