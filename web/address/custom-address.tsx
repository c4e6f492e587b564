import { useEffect, useId, useState } from 'preact/hooks'
import { announce } from '../site/announce.ts'
import { ApiError, type Domains, errorText, requestJson } from '../site/api-client.ts'
import { Button, ErrorMessage, VERBATIM } from '../site/controls.tsx'
import { Dialog } from '../site/dialog.tsx'
import { formatDuration } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import { createMailbox, listFullText, TooManyMailboxes } from './actions.ts'
import { isUnfinished, nameError, normaliseName } from './mailbox.ts'
import type { NewMailboxOptions } from './session-api.ts'

const MINUTE = 60
const DAY = 86_400
const LIFETIMES = [10 * MINUTE, 60 * MINUTE, DAY, 7 * DAY, 30 * DAY]

const NO_ERRORS: FormErrors = { name: '', form: '' }

/** An address with a chosen name, domain and lifetime. */
export function CustomAddressDialog({ onClose }: { onClose(): void }) {
  const [domains, setDomains] = useState<Domains>()
  const [name, setName] = useState('')
  /** `domain <id>`, `gmail <id>` or `gmail any`. */
  const [source, setSource] = useState('')
  const [seconds, setSeconds] = useState(siteConfig.life)
  const [errors, setErrors] = useState(NO_ERRORS)
  const [isCreating, setCreating] = useState(false)

  const load = async () => {
    setErrors(NO_ERRORS)
    try {
      const loaded = await requestJson<Domains>('/api/domains')
      setDomains(loaded)
      setSource(sourcesOf(loaded)[0]?.[0] ?? '')
    } catch (error) {
      setErrors({ name: '', form: errorText(error) })
    }
  }
  useEffect(() => void load(), [])

  const create = async () => {
    setCreating(true)
    setErrors(NO_ERRORS)
    try {
      const options = { name: normaliseName(name), ...sourceOptions(source), seconds }
      const { email } = await createMailbox(options)
      announce(t('address_created', { email }))
      onClose()
    } catch (error) {
      setErrors(formErrorsFrom(error))
    }
    setCreating(false)
  }

  const invalid = nameError(name)
  const nameErrorText = invalid ? t(`address_name_${invalid}`) : errors.name
  return (
    <Dialog title={t('address_choose_title')} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (!invalid && domains && !isCreating) void create()
        }}
      >
        <NameField
          value={name}
          error={isUnfinished(invalid) ? '' : nameErrorText}
          onInput={(typed) => {
            setName(typed)
            setErrors(NO_ERRORS)
          }}
        />
        <SelectField
          label={t('address_form_domain')}
          options={domains ? sourcesOf(domains) : [['', t('address_form_loading')]]}
          value={source}
          disabled={!domains}
          dir="ltr"
          onChange={(chosen) => {
            setSource(chosen)
            setErrors(NO_ERRORS)
          }}
        />
        <SelectField
          label={t('address_form_expiry')}
          options={lifetimes()}
          value={seconds}
          onChange={(chosen) => setSeconds(Number(chosen))}
        />
        <ErrorMessage error={errors.form} />
        {!domains && errors.form && (
          <Button class="plain" onClick={() => void load()}>
            {t('site_try_again')}
          </Button>
        )}{' '}
        <button type="submit" disabled={!domains || invalid !== undefined || isCreating}>
          {t('address_form_submit')}
        </button>
      </form>
    </Dialog>
  )
}

interface FormErrors {
  /** Shown at the name. */
  name: string
  form: string
}

function formErrorsFrom(error: unknown): FormErrors {
  if (error instanceof TooManyMailboxes) return { name: '', form: listFullText() }
  const code = error instanceof ApiError ? error.code : ''
  if (code === 'address_taken') return { name: t('address_name_taken'), form: '' }
  if (code === 'reserved_prefix') return { name: t('address_name_reserved'), form: '' }
  if (code === 'invalid_prefix') return { name: t('address_name_characters'), form: '' }
  return { name: '', form: code === 'gmail_unavailable' ? t('address_gmail') : errorText(error) }
}

function sourceOptions(source: string): Pick<NewMailboxOptions, 'domainId' | 'gmail'> {
  const [kind, id = ''] = source.split(' ')
  if (kind === 'gmail') return { gmail: id === 'any' ? 'any' : Number(id) }
  return kind === 'domain' ? { domainId: Number(id) } : {}
}

interface NameFieldProps {
  value: string
  error: string
  onInput(typed: string): void
}

function NameField({ value, error, onInput }: NameFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{t('address_form_name')}</label>
      <input
        id={id}
        value={value}
        aria-invalid={error !== ''}
        aria-describedby={`${id}-hint`}
        {...VERBATIM}
        autofocus
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p id={`${id}-hint`} class={error ? 'fault' : 'soft'} aria-live="polite">
        {error || `${t('address_form_name_hint')} ${t('address_form_random')}`}
      </p>
    </div>
  )
}

type Option = readonly [value: string | number, label: string]

interface SelectFieldProps {
  label: string
  options: readonly Option[]
  value: string | number
  disabled?: boolean
  dir?: 'ltr'
  onChange(value: string): void
}

function SelectField({ label, options, onChange, ...select }: SelectFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} {...select} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Gmail is listed only if the site has an account; with several, any of them may be chosen. */
function sourcesOf({ domains, gmail_accounts }: Domains): [source: string, label: string][] {
  const gmail = (id: number | 'any', name: string): [string, string] => [
    `gmail ${id}`,
    `${t('address_form_gmail')}: ${name}`,
  ]
  return [
    ...domains.map(({ id, domain }): [string, string] => [`domain ${id}`, `@${domain}`]),
    ...(gmail_accounts.length > 1 ? [gmail('any', t('address_form_gmail_any'))] : []),
    ...gmail_accounts.map(({ id, email }) => gmail(id, email)),
  ]
}

function lifetimes(): Option[] {
  const allowed = LIFETIMES.filter((lifetime) => lifetime <= siteConfig.longest)
  return [...new Set([...allowed, siteConfig.life])]
    .sort((a, b) => a - b)
    .map((seconds) => {
      const time = formatDuration(seconds * 1000, language.value, 'long')
      const isDefault = seconds === siteConfig.life
      return [seconds, isDefault ? t('address_form_expiry_default', { time }) : time]
    })
}
