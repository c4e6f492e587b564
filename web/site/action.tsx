import { useState } from 'preact/hooks'
import { Button } from './controls.tsx'
import { ConfirmDialog } from './dialog.tsx'

export interface Action {
  isBusy: boolean
  error: unknown
  /** What was done last; empty if it failed. */
  message: string
  /** Result of an operation, which says what it did; undefined if it failed. */
  run(operation: () => Promise<string>): Promise<string | undefined>
}

interface ActionOptions {
  /** Called after each operation. */
  done?(): Promise<unknown>
  /** What is shown of an error. */
  shown?(error: unknown): unknown
}

/** One operation at a time. */
export function useAction({ done, shown = (error) => error }: ActionOptions = {}): Action {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>('')
  const [message, setMessage] = useState('')
  return {
    isBusy,
    error,
    message,
    async run(operation) {
      setBusy(true)
      setError('')
      setMessage('')
      try {
        const result = await operation()
        await done?.()
        setMessage(result)
        return result
      } catch (fault) {
        setError(shown(fault))
        return undefined
      } finally {
        setBusy(false)
      }
    },
  }
}

export interface ActionView {
  text: string
  /** What to do next. */
  primary?: true
  danger?: true
  /** Asked before. */
  confirm?: string
  /** Returns what was done. */
  run(): Promise<string>
}

interface ActionButtonProps {
  view: ActionView
  /** For screen readers: what it is about. */
  name?: string | undefined
  action: Action
}

/** Asks first, if the action has a question. Not disabled while an action runs, which would take the focus from it. */
export function ActionButton({ view, name, action }: ActionButtonProps) {
  const { text, primary, danger, confirm, run } = view
  const [isOpen, setOpen] = useState(false)
  const start = () => {
    setOpen(false)
    void action.run(run)
  }
  return (
    <>
      <Button
        class={primary ? '' : danger ? 'danger' : 'plain'}
        aria-disabled={action.isBusy}
        aria-label={name === undefined ? undefined : `${text}: ${name}`}
        onClick={() => {
          if (action.isBusy) return
          if (confirm === undefined) start()
          else setOpen(true)
        }}
      >
        {text}
      </Button>
      {isOpen && (
        <ConfirmDialog
          title={text}
          action={text}
          class={danger ? 'danger' : ''}
          onConfirm={start}
          onClose={() => setOpen(false)}
        >
          <p>{confirm}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
