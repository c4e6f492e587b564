import type { Catalogue } from '../../src/shared/translate.ts'
import { isExpired, type Mailbox } from '../address/mailbox.ts'
import { currentMailbox } from '../address/mailboxes.ts'
import { Button, VERBATIM } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { type ConsoleState, getSecret, setSecret } from './console-state.ts'
import type { Operation, Parameter } from './request.ts'

type Credential = NonNullable<Operation['auth']>

const CREDENTIAL_LABELS: Record<Credential, keyof Catalogue> = {
  token: 'docs_token',
  key: 'site_key',
  admin: 'docs_admin_token',
}

/** The token or key, shared by all consoles. */
export function CredentialField({ id, opens }: { id: string; opens: Credential }) {
  const mailbox = opens === 'token' ? inboxMailbox() : undefined
  return (
    <div class="field">
      <label for={id}>{t(CREDENTIAL_LABELS[opens])}</label>
      <div class="row">
        <input
          id={id}
          class="opener"
          {...VERBATIM}
          aria-describedby={opens === 'admin' ? undefined : `${id}-kept`}
          value={getSecret(opens)}
          onInput={({ currentTarget }) => setSecret(opens, currentTarget.value)}
        />
        {mailbox && (
          <Button class="plain" onClick={() => setSecret('token', mailbox.token)}>
            {t('docs_use_inbox', { email: mailbox.email })}
          </Button>
        )}
      </div>
      {opens !== 'admin' && (
        <span id={`${id}-kept`} class="soft">
          {t('docs_remembered')}
        </span>
      )}
    </div>
  )
}

/** The mailbox of the inbox, unless it has expired or is already in use. */
function inboxMailbox(): Mailbox | undefined {
  const mailbox = currentMailbox.value
  if (!mailbox || isExpired(mailbox, Date.now())) return undefined
  return mailbox.token === getSecret('token') ? undefined : mailbox
}

interface ParameterProps {
  id: string
  field: Parameter
  trial: ConsoleState
}

export function ParameterField({ id, field, trial }: ParameterProps) {
  return (
    <div class="field">
      <label for={id}>
        <code>{field.name}</code> {field.required && <em>{t('docs_required')}</em>}
      </label>
      <ParameterInput id={id} field={field} trial={trial} />
    </div>
  )
}

function ParameterInput({ id, field, trial }: ParameterProps) {
  const { name, kind, required, minimum, maximum } = field
  const value = trial.values.value[name] ?? ''
  if (kind === 'flag') {
    return (
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => trial.give(name, currentTarget.value)}
      >
        <option value="">{t('docs_not_set')}</option>
        <option value="1">1</option>
        <option value="0">0</option>
      </select>
    )
  }
  return (
    <input
      id={id}
      required={required}
      inputMode={kind === 'integer' ? 'numeric' : 'text'}
      placeholder={kind === 'integer' ? rangeText(minimum, maximum) : ''}
      {...VERBATIM}
      value={value}
      onInput={({ currentTarget }) => trial.give(name, currentTarget.value)}
    />
  )
}

/** Not validated here: the API's error response is worth seeing. */
function rangeText(minimum: number | undefined, maximum: number | undefined): string {
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  return bounded ? `${minimum ?? 0} – ${maximum}` : ''
}
