import { useId } from 'preact/hooks'
import { isOver, type Mailbox } from '../address/mailbox.ts'
import { current } from '../address/mailboxes.ts'
import { say, type Words } from '../site/words.ts'
import { holdSecret, secretOf } from './opener.ts'
import type { Field, Operation } from './operation.ts'
import type { Trial } from './trial.ts'

type Opener = NonNullable<Operation['opens']>

const OPENERS: Record<Opener, keyof Words> = {
  token: 'docs_token',
  key: 'docs_key',
  admin: 'docs_admin',
}

/** The token or key, the same for all calls that want one. */
export function OpenerField({ opens }: { opens: Opener }) {
  const id = useId()
  const mailbox = opens === 'token' ? inboxMailbox() : undefined
  return (
    <div class="field">
      <label for={id}>{say(OPENERS[opens])}</label>
      <div class="row">
        <input
          id={id}
          class="opener"
          dir="ltr"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          aria-describedby={opens === 'admin' ? undefined : `${id}-kept`}
          value={secretOf(opens)}
          onInput={({ currentTarget }) => holdSecret(opens, currentTarget.value)}
        />
        {mailbox && (
          <button type="button" class="plain" onClick={() => holdSecret('token', mailbox.token)}>
            {say('docs_use_inbox', { email: mailbox.email })}
          </button>
        )}
      </div>
      {opens !== 'admin' && (
        <span id={`${id}-kept`} class="soft">
          {say('docs_remembered')}
        </span>
      )}
    </div>
  )
}

/** That of the inbox, unless it is over or given already. */
function inboxMailbox(): Mailbox | undefined {
  const mailbox = current.value
  if (!mailbox || isOver(mailbox, Date.now())) return undefined
  return mailbox.token === secretOf('token') ? undefined : mailbox
}

export function CallField({ field, trial }: { field: Field; trial: Trial }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>
        <code>{field.name}</code> {field.required && <em>{say('docs_required')}</em>}
      </label>
      <Given id={id} field={field} trial={trial} />
    </div>
  )
}

function Given({ id, field, trial }: { id: string; field: Field; trial: Trial }) {
  const { name, kind, required, minimum, maximum } = field
  const value = trial.values.value[name] ?? ''
  if (kind === 'flag') {
    return (
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => trial.give(name, currentTarget.value)}
      >
        <option value="">{say('docs_not_given')}</option>
        <option value="1">1</option>
        <option value="0">0</option>
      </select>
    )
  }
  return (
    <input
      id={id}
      dir="ltr"
      required={required}
      inputMode={kind === 'integer' ? 'numeric' : 'text'}
      placeholder={kind === 'integer' ? rangeOf(minimum, maximum) : ''}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      value={value}
      onInput={({ currentTarget }) => trial.give(name, currentTarget.value)}
    />
  )
}

/** Not checked here: what the API says to a wrong one is worth seeing. */
function rangeOf(minimum: number | undefined, maximum: number | undefined): string {
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  return bounded ? `${minimum ?? 0} – ${maximum}` : ''
}
