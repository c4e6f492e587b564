import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { parseSenderList } from '../../src/shared/address-rules.ts'
import { announceQuietly } from '../site/announce.ts'
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

const NO_ERRORS: FormErrors = { name: '', onlyFrom: '', form: '' }

interface FormValues {
  name: string
  /** `domain <id>`, `gmail <id>` or `gmail any`. */
  source: string
  seconds: number
  onlyFrom: string
  /** A number of messages; empty: no limit. */
  limit: string
}

/** An address with a chosen name, domain, lifetime and rules. */
export function CustomAddressDialog({ onClose }: { onClose(): void }) {
  const [domains, setDomains] = useState<Domains>()
  const [values, setValues] = useState<FormValues>({
    name: '',
    source: '',
    seconds: siteConfig.life,
    onlyFrom: '',
    limit: '',
  })
  const [errors, setErrors] = useState(NO_ERRORS)
  const [isCreating, setCreating] = useState(false)

  const load = async () => {
    setErrors(NO_ERRORS)
    try {
      const loaded = await requestJson<Domains>('/api/domains')
      setDomains(loaded)
      setValues((before) => ({ ...before, source: sourcesOf(loaded)[0]?.[0] ?? '' }))
    } catch (error) {
      setErrors({ ...NO_ERRORS, form: errorText(error) })
    }
  }
  useEffect(() => void load(), [])

  const create = async () => {
    setCreating(true)
    setErrors(NO_ERRORS)
    try {
      const { email } = await createMailbox(optionsOf(values))
      announceQuietly(t('address_created', { email }))
      onClose()
    } catch (error) {
      setErrors(formErrorsFrom(error))
    }
    setCreating(false)
  }

  const submit = () => {
    const senders = values.onlyFrom.trim()
    if (senders === '' || parseSenderList(senders)) void create()
    else setErrors({ ...NO_ERRORS, onlyFrom: t('address_form_only_from_invalid') })
  }

  const invalid = nameError(values.name)
  return (
    <Dialog title={t('address_choose_title')} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (!invalid && domains && !isCreating) submit()
        }}
      >
        <AddressFields
          values={values}
          domains={domains}
          errors={errors}
          onChange={(changed) => {
            setValues({ ...values, ...changed })
            setErrors(NO_ERRORS)
          }}
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

interface AddressFieldsProps {
  values: FormValues
  domains: Domains | undefined
  errors: FormErrors
  onChange(changed: Partial<FormValues>): void
}

function AddressFields({ values, domains, errors, onChange }: AddressFieldsProps) {
  const invalid = nameError(values.name)
  const more = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (!errors.onlyFrom || !more.current) return
    more.current.open = true
    more.current.querySelector('input')?.focus()
  }, [errors])
  const nameErrorText = invalid ? t(`address_name_${invalid}`) : errors.name
  return (
    <>
      <TextField
        label={t('address_form_name')}
        hint={`${t('address_form_name_hint')} ${t('address_form_random')}`}
        value={values.name}
        error={isUnfinished(invalid) ? '' : nameErrorText}
        autofocus
        onInput={(name) => onChange({ name })}
      />
      <SelectField
        label={t('address_form_domain')}
        options={domains ? sourcesOf(domains) : [['', t('address_form_loading')]]}
        value={values.source}
        disabled={!domains}
        dir="ltr"
        onChange={(source) => onChange({ source })}
      />
      <SelectField
        label={t('address_form_expiry')}
        options={lifetimes()}
        value={values.seconds}
        onChange={(seconds) => onChange({ seconds: Number(seconds) })}
      />
      <details ref={more} class="more address-form-more">
        <summary>{t('address_form_more')}</summary>
        <TextField
          label={t('address_form_only_from')}
          hint={t('address_form_only_from_hint')}
          value={values.onlyFrom}
          error={errors.onlyFrom}
          onInput={(onlyFrom) => onChange({ onlyFrom })}
        />
        <SelectField
          label={t('address_form_limit')}
          options={limits()}
          value={values.limit}
          onChange={(limit) => onChange({ limit })}
        />
      </details>
    </>
  )
}

function optionsOf({ name, source, seconds, onlyFrom, limit }: FormValues): NewMailboxOptions {
  return {
    name: normaliseName(name),
    ...sourceOptions(source),
    seconds,
    onlyFrom: onlyFrom.trim(),
    maxMessages: limit === '' ? undefined : Number(limit),
  }
}

interface FormErrors {
  /** Shown at the name. */
  name: string
  onlyFrom: string
  form: string
}

function formErrorsFrom(error: unknown): FormErrors {
  if (error instanceof TooManyMailboxes) return { ...NO_ERRORS, form: listFullText() }
  const code = error instanceof ApiError ? error.code : ''
  if (code === 'address_taken') return { ...NO_ERRORS, name: t('address_name_taken') }
  if (code === 'reserved_prefix') return { ...NO_ERRORS, name: t('address_name_reserved') }
  if (code === 'invalid_prefix') return { ...NO_ERRORS, name: t('address_name_characters') }
  const form = code === 'gmail_unavailable' ? t('address_gmail') : errorText(error)
  return { ...NO_ERRORS, form }
}

function sourceOptions(source: string): Pick<NewMailboxOptions, 'domainId' | 'gmail'> {
  const [kind, id = ''] = source.split(' ')
  if (kind === 'gmail') return { gmail: id === 'any' ? 'any' : Number(id) }
  return kind === 'domain' ? { domainId: Number(id) } : {}
}

interface TextFieldProps {
  label: string
  hint: string
  value: string
  error: string
  autofocus?: boolean
  onInput(typed: string): void
}

function TextField({ label, hint, value, error, autofocus, onInput }: TextFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={value}
        aria-invalid={error !== ''}
        aria-describedby={`${id}-hint`}
        {...VERBATIM}
        autofocus={autofocus}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p id={`${id}-hint`} class={error ? 'fault' : 'soft'} aria-live="polite">
        {error || hint}
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

const LIMITS = [1, 10, 100]

function limits(): Option[] {
  return [
    ['', t('address_form_limit_none')],
    ...LIMITS.map((count): Option => [count, t('address_form_limit_count', { count })]),
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
