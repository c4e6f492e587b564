import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Button } from './controls.tsx'
import { Dialog } from './dialog.tsx'
import { t } from './i18n.ts'

interface ConfirmedProps {
  name: string
  /** For screen readers: what it is about. */
  label?: string
  class?: string
  /** Of the button that confirms; by default red if the first one is. */
  confirmClass?: string
  disabled: boolean
  run(): Promise<unknown>
  children: ComponentChildren
}

/** A button that asks before it acts. */
export function Confirmed(props: ConfirmedProps) {
  const { name, label, class: className = 'plain', disabled, run, children } = props
  const { confirmClass = className === 'danger' ? 'danger' : '' } = props
  const isOpen = useSignal(false)
  const close = () => {
    isOpen.value = false
  }
  return (
    <>
      <Button
        class={className}
        disabled={disabled}
        aria-label={label === undefined ? undefined : `${name}: ${label}`}
        onClick={() => {
          isOpen.value = true
        }}
      >
        {name}
      </Button>
      {isOpen.value && (
        <Dialog title={name} onClose={close}>
          <p>{children}</p>
          <div class="row">
            <Button
              class={confirmClass}
              onClick={() => {
                close()
                void run()
              }}
            >
              {name}
            </Button>
            <Button class="plain" onClick={close}>
              {t('site_cancel')}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  )
}
