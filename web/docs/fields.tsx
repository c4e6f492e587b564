import type { Catalogue } from '../../src/shared/translate.ts'
import { Button, Field, Select, VERBATIM } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { type ConsoleState, getSecret, inboxMailbox, setSecret } from './console-state.ts'
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
  const isUsed = mailbox?.token === getSecret('token')
  return (
    <Field id={id} label={t(CREDENTIAL_LABELS[opens])}>
      <div class="row">
        <input
          id={id}
          class="opener"
          {...VERBATIM}
          aria-describedby={opens === 'admin' ? undefined : `${id}-kept`}
          value={getSecret(opens)}
          onInput={({ currentTarget }) => setSecret(opens, currentTarget.value)}
        />
        {mailbox && !isUsed && (
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
    </Field>
  )
}

interface ParameterProps {
  id: string
  field: Parameter
  trial: ConsoleState
}

export function ParameterField({ id, field, trial }: ParameterProps) {
  const label = (
    <>
      <code>{field.name}</code> {field.required && <em>{t('docs_required')}</em>}
    </>
  )
  return (
    <Field id={id} label={label}>
      <ParameterInput id={id} field={field} trial={trial} />
    </Field>
  )
}

function ParameterInput({ id, field, trial }: ParameterProps) {
  const { name, kind, required, minimum, maximum } = field
  const value = trial.values.value[name] ?? ''
  if (kind === 'flag') {
    const options = [['', t('docs_not_set')] as const, ['1', '1'] as const, ['0', '0'] as const]
    const onChoose = (chosen: string) => trial.give(name, chosen)
    return <Select id={id} value={value} options={options} onChoose={onChoose} />
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
