import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button, ErrorMessage } from './controls.tsx'
import { t } from './i18n.ts'
import { Icon } from './icon.tsx'
import './dialog.css'

interface DialogProps {
  title: string
  /** On Escape, the close button or a click outside. The caller stops rendering the dialog. */
  onClose(): void
  /** What gets the focus then, if it is not to return to where it was. */
  focusAfter?(): HTMLElement | null
  children: ComponentChildren
}

/** Modal, and open as long as it is rendered. Then the focus returns to where it was. */
export function Dialog({ title, onClose, focusAfter, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  const closeButton = useRef<HTMLButtonElement>(null)
  const id = useId()
  useEffect(() => {
    const focused = document.activeElement
    ref.current?.showModal()
    // Without a field to fill in, the focus belongs on what the dialog says, not on its close button.
    if (document.activeElement === closeButton.current) heading.current?.focus()
    // By then the dialog is removed, and close() would not return the focus.
    return () => {
      const next = focusAfter?.()
      if (next) next.focus()
      else if (focused instanceof HTMLElement && focused.isConnected) focused.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
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
          <h2 id={id} ref={heading} tabIndex={-1}>
            {title}
          </h2>
          <button
            type="button"
            ref={closeButton}
            class="quiet icon"
            aria-label={t('site_close')}
            onClick={onClose}
          >
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}

interface ConfirmDialogProps extends DialogProps {
  /** Name of the button that confirms. */
  action: string
  /** Class of that button. */
  class?: string
  /** Name of the other button. */
  cancel?: string
  error?: unknown
  onConfirm(): void
}

/** Asks before something is done. The caller closes it. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const {
    title,
    action,
    class: className = '',
    cancel,
    error,
    onConfirm,
    onClose,
    focusAfter = () => null,
    children,
  } = props
  return (
    <Dialog title={title} onClose={onClose} focusAfter={focusAfter}>
      {children}
      <ErrorMessage error={error} />
      <div class="row">
        <Button class={className} onClick={onConfirm}>
          {action}
        </Button>
        <Button class="plain" onClick={onClose}>
          {cancel ?? t('site_cancel')}
        </Button>
      </div>
    </Dialog>
  )
}
