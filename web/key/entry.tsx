import type { ComponentChildren } from 'preact'
import { type Action, ActionButton, type ActionView } from '../site/action.tsx'
import { ErrorMessage } from '../site/controls.tsx'
import './entry.css'

interface EntryProps {
  name: string
  badge: readonly [text: string, tone: 'good' | 'bad' | 'warn']
  isOpen: boolean
  children: ComponentChildren
}

/** Something that belongs to the key, with its state; the rest is shown once it is opened. */
export function Entry({ name, badge: [text, tone], isOpen, children }: EntryProps) {
  return (
    <details class="key-entry" tabIndex={-1} open={isOpen}>
      <summary>
        <code dir="ltr">{name}</code> <span class={`badge ${tone}`}>{text}</span>
      </summary>
      {children}
    </details>
  )
}

interface EntryActionsProps {
  views: readonly ActionView[]
  action: Action
}

/** What can be done to an entry, and the result of the last action. */
export function EntryActions({ views, action }: EntryActionsProps) {
  return (
    <>
      <div class="row key-actions">
        {views.map((view) => (
          <ActionButton key={view.text} view={view} action={action} />
        ))}
      </div>
      <p class="key-result" role="status">
        {action.message}
      </p>
      <ErrorMessage error={action.error} />
    </>
  )
}
