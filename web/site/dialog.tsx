import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { t } from './i18n.ts'
import { Icon } from './icon.tsx'
import './dialog.css'

interface DialogProps {
  title: string
  /** Escape, the cross, and a click beside it. Who shows the dialog stops showing it. */
  onClose(): void
  children: ComponentChildren
}

/** Something to be answered before anything else; it is open as long as it is on the page. Its focus goes back to where it came from. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const place = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = place.current
    const before = document.activeElement
    dialog?.showModal()
    // It is off the page by now, where closing gives no focus back.
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={place}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onPointerDown={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
    >
      <div class="dialog-inside">
        <header class="dialog-top">
          <h2 id={id}>{title}</h2>
          <button type="button" class="quiet icon" aria-label={t('site_close')} onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}
