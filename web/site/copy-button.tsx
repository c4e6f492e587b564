import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { announce } from './announce.ts'
import { Button } from './controls.tsx'
import { t } from './i18n.ts'

interface CopyButtonProps {
  text: string
  /** Element with the text, to be selected if it cannot be copied. */
  textRef: RefObject<HTMLElement | null>
  /** On the button; `Copy` if omitted. */
  caption?: string
  /** For screen readers: what is copied. */
  label?: string
  /** An icon instead of the caption. */
  isIcon?: boolean
  class?: string
  onCopy?(): void
}

const SHOWN_MS = 4_000

export function CopyButton(props: CopyButtonProps) {
  const { text, textRef, caption, label, isIcon = false, class: className = 'plain' } = props
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined)
  useEffect(() => {
    if (outcome === undefined) return
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [outcome])
  useEffect(() => setOutcome(undefined), [text])
  const shown = outcome ? outcomeText(outcome) : (caption ?? t('site_copy'))
  const copy = async () => {
    setOutcome(await copyText(text, textRef.current ?? undefined))
    props.onCopy?.()
    // It may be about what was copied before.
    announce('')
  }
  return (
    <>
      <Button
        class={className}
        {...(isIcon ? { icon: outcome === 'copied' ? 'done' : 'copy', title: shown } : {})}
        aria-label={label || isIcon ? [shown, label].filter(Boolean).join(': ') : undefined}
        onClick={() => void copy()}
      >
        {!isIcon && shown}
      </Button>
      <span class="unseen" role="status">
        {outcome ? shown : ''}
      </span>
    </>
  )
}

type Outcome = 'copied' | 'marked'

// Elsewhere the keys are others, or there are none.
const HAS_CTRL = !matchMedia('(pointer: coarse)').matches && !/^(?:Mac|iP)/.test(navigator.platform)

export function outcomeText(outcome: Outcome): string {
  return t(outcome === 'marked' && !HAS_CTRL ? 'site_marked_by_hand' : `site_${outcome}`)
}

/** Selects the element, to be copied by hand, if the browser does not let us copy. */
export async function copyText(text: string, element?: HTMLElement): Promise<Outcome> {
  try {
    await navigator.clipboard.writeText(text)
    return 'copied'
  } catch {
    if (copyByCommand(text)) return 'copied'
    if (element) getSelection()?.selectAllChildren(element)
    return 'marked'
  }
}

/** Over plain http, where browsers have no clipboard API. */
function copyByCommand(text: string): boolean {
  const focused = document.activeElement
  const field = document.createElement('textarea')
  field.className = 'unseen'
  field.value = text
  // Everything outside a modal dialog is inert.
  const parent = focused?.closest('dialog') ?? document.body
  parent.append(field)
  field.select()
  try {
    return document.execCommand('copy')
  } finally {
    field.remove()
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }
}
