import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { parseSenderList } from '../../src/shared/address-rules.ts'
import { announceQuietly } from '../site/announce.ts'
import type { Domains } from '../site/api.ts'
import { ApiError, errorText, requestJson } from '../site/api-client.ts'
import {
  Button,
  ErrorMessage,
  Field,
  Form,
  type Option,
  Select,
  VERBATIM,
} from '../site/controls.tsx'
import { Dialog } from '../site/dialog.tsx'
import { errorTexts, nameErrorText } from '../site/error-texts.ts'
import { formatDuration } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import { createMailbox, listFullText, reservedUntil, TooManyMailboxes } from './actions.ts'
import { nameError, normaliseName } from './mailbox.ts'

const MINUTE = 60
const DAY = 86_400
const LIFETIMES = [10 * MINUTE, 60 * MINUTE, DAY, 7 * DAY, 30 * DAY]

/** Parameters of the API; `source` stands for several, as a query. */
type FormValues = Record<
  'prefix' | 'source' | 'subdomain' | 'ttl' | 'only_from' | 'max_messages',
  string
>

/** Shown at this field, or below the form. */
interface FormError {
  at: 'prefix' | 'subdomain' | 'only_from' | 'form'
  text: string
}

/** An address with a chosen name, domain, lifetime and rules. */
export function CustomAddressDialog({ onClose }: { onClose(): void }) {
  const [domains, setDomains] = useState<Domains>()
  const [values, setValues] = useState<FormValues>({
    prefix: '',
    source: '',
    subdomain: '',
    ttl: String(siteConfig.life),
    only_from: '',
    max_messages: '',
  })
  const [error, setError] = useState<FormError>()
  const [isCreating, setCreating] = useState(false)

  const load = async () => {
    setError(undefined)
    try {
      const loaded = await requestJson<Domains>('/api/domains')
      setDomains(loaded)
      setValues((before) => ({ ...before, source: sourcesOf(loaded)[0]?.[0] ?? '' }))
    } catch (cause) {
      setError({ at: 'form', text: errorText(cause) })
    }
  }
  useEffect(() => void load(), [])

  const create = async () => {
    setCreating(true)
    setError(undefined)
    try {
      const { email } = await createMailbox(parametersOf(values))
      announceQuietly(t('address_created', { email }))
      onClose()
    } catch (cause) {
      setError(formErrorFrom(cause, requestedAddress(values, domains)))
    }
    setCreating(false)
  }

  const submit = () => {
    const senders = values.only_from.trim()
    if (senders === '' || parseSenderList(senders)) void create()
    else setError({ at: 'only_from', text: t('address_form_only_from_invalid') })
  }

  const invalid = nameError(values.prefix)
  const failure = error?.at === 'form' ? error.text : ''
  return (
    <Dialog title={t('address_choose_title')} onClose={onClose}>
      <Form onSubmit={() => !invalid && domains && !isCreating && submit()}>
        <AddressFields
          values={values}
          domains={domains}
          error={error}
          onChange={(changed) => {
            setValues({ ...values, ...changed })
            setError(undefined)
          }}
        />
        <ErrorMessage error={failure} />
        {!domains && failure && (
          <Button class="plain" onClick={() => void load()}>
            {t('site_try_again')}
          </Button>
        )}{' '}
        <button type="submit" disabled={!domains || invalid !== undefined || isCreating}>
          {t('address_form_submit')}
        </button>
      </Form>
    </Dialog>
  )
}

interface AddressFieldsProps {
  values: FormValues
  domains: Domains | undefined
  error: FormError | undefined
  onChange(changed: Partial<FormValues>): void
}

function AddressFields({ values, domains, error, onChange }: AddressFieldsProps) {
  const id = useId()
  const invalid = nameError(values.prefix)
  const more = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (error?.at !== 'only_from' || !more.current) return
    more.current.open = true
    more.current.querySelector('input')?.focus()
  }, [error])
  const errorAt = (at: FormError['at']) => (error?.at === at ? error.text : '')
  const nameErrorText = invalid ? t(`address_name_${invalid}`) : errorAt('prefix')
  return (
    <>
      <TextField
        label={t('address_form_name')}
        hint={`${t('address_form_name_hint')} ${t('address_form_random')}`}
        value={values.prefix}
        // The next letter may still be typed.
        error={invalid === 'end' ? '' : nameErrorText}
        autofocus
        onInput={(prefix) => onChange({ prefix })}
      />
      <Field id={`${id}-domain`} label={t('address_form_domain')}>
        <Select
          id={`${id}-domain`}
          options={domains ? sourcesOf(domains) : [['', t('address_form_loading')]]}
          value={values.source}
          disabled={!domains}
          dir="ltr"
          onChoose={(source) => onChange({ source })}
        />
      </Field>
      {'subdomain' in parametersFrom(values.source) && (
        <TextField
          label={t('address_form_subdomain')}
          hint={t('address_form_subdomain_hint')}
          value={values.subdomain}
          error={errorAt('subdomain')}
          onInput={(subdomain) => onChange({ subdomain })}
        />
      )}
      <Field id={`${id}-expiry`} label={t('address_form_expiry')}>
        <Select
          id={`${id}-expiry`}
          options={lifetimes()}
          value={values.ttl}
          onChoose={(ttl) => onChange({ ttl })}
        />
      </Field>
      <details ref={more} class="more address-form-more">
        <summary>{t('address_form_more')}</summary>
        <TextField
          label={t('address_form_only_from')}
          hint={t('address_form_only_from_hint')}
          value={values.only_from}
          error={errorAt('only_from')}
          onInput={(senders) => onChange({ only_from: senders })}
        />
        <Field id={`${id}-limit`} label={t('address_form_limit')}>
          <Select
            id={`${id}-limit`}
            options={limits()}
            value={values.max_messages}
            onChoose={(limit) => onChange({ max_messages: limit })}
          />
        </Field>
      </details>
    </>
  )
}

const parametersFrom = (source: string): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(source))

function parametersOf({
  source,
  subdomain,
  prefix,
  only_from: senders,
  ...values
}: FormValues): Record<string, string> {
  const address = parametersFrom(source)
  return {
    ...values,
    ...address,
    ...('subdomain' in address && { subdomain: subdomain.trim() }),
    prefix: normaliseName(prefix),
    only_from: senders.trim(),
  }
}

const subdomainErrorText = errorTexts({
  reserved_subdomain: 'address_name_reserved',
  invalid_subdomain: 'address_subdomain_invalid',
})

/** At a mail domain. */
function requestedAddress(
  { prefix, source, subdomain }: FormValues,
  domains: Domains | undefined,
): string {
  const { domain_id: id } = parametersFrom(source)
  const found = domains?.domains.find((one) => String(one.id) === id)
  const label = found?.wildcard ? `${subdomain.trim().toLowerCase()}.` : ''
  return `${normaliseName(prefix)}@${label}${found?.domain ?? ''}`
}

function formErrorFrom(cause: unknown, email: string): FormError {
  if (cause instanceof TooManyMailboxes) return { at: 'form', text: listFullText() }
  const isTaken = cause instanceof ApiError && cause.code === 'address_taken'
  const until = isTaken ? reservedUntil(email) : undefined
  if (until) {
    const date = until.toLocaleDateString(language.value, { dateStyle: 'long' })
    return { at: 'prefix', text: t('address_name_deleted', { date }) }
  }
  const name = nameErrorText(cause)
  if (typeof name === 'string') return { at: 'prefix', text: name }
  const subdomain = subdomainErrorText(cause)
  if (typeof subdomain === 'string') return { at: 'subdomain', text: subdomain }
  const isGmail = cause instanceof ApiError && cause.code === 'gmail_unavailable'
  return { at: 'form', text: isGmail ? t('address_gmail') : errorText(cause) }
}

interface TextFieldProps {
  label: string
  hint: string
  value: string
  error: string
  autofocus?: boolean
  maxLength?: number
  /** Default: left to right. */
  dir?: 'auto'
  onInput(typed: string): void
}

export function TextField({ label, hint, error, onInput, ...rest }: TextFieldProps) {
  const id = useId()
  return (
    <Field id={id} label={label}>
      <input
        id={id}
        aria-invalid={error !== ''}
        aria-describedby={`${id}-hint`}
        {...VERBATIM}
        {...rest}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p id={`${id}-hint`} class={error ? 'fault' : 'soft'} aria-live="polite">
        {error || hint}
      </p>
    </Field>
  )
}

/** A wildcard domain also takes a subdomain. Gmail is listed only if the site has an account; with several, any of them may be chosen. */
function sourcesOf({ domains, gmail_accounts: accounts }: Domains): Option[] {
  const gmail = (query: string, name: string): Option => [
    query,
    `${t('address_form_gmail')}: ${name}`,
  ]
  return [
    ...domains.map(
      ({ id, domain, wildcard }): Option =>
        wildcard
          ? [`domain_id=${id}&subdomain=`, `@*.${domain}`]
          : [`domain_id=${id}`, `@${domain}`],
    ),
    ...(accounts.length > 1 ? [gmail('gmail_auto=1', t('address_form_gmail_any'))] : []),
    ...accounts.map(({ id, email }) => gmail(`use_gmail=1&gmail_id=${id}`, email)),
  ]
}

const LIMITS = [1, 10, 100]

/** `chosen`: another one that an API client has set. */
export function limits(chosen?: number | null): Option[] {
  const counts = new Set([...LIMITS, ...(chosen ? [chosen] : [])])
  return [
    ['', t('address_form_limit_none')],
    ...[...counts].map(
      (count): Option => [String(count), t('address_form_limit_count', { count })],
    ),
  ]
}

function lifetimes(): Option[] {
  const allowed = LIFETIMES.filter((lifetime) => lifetime <= siteConfig.longest)
  return [...new Set([...allowed, siteConfig.life])]
    .sort((a, b) => a - b)
    .map((seconds) => {
      const time = formatDuration(seconds * 1000, language.value, 'long')
      const isDefault = seconds === siteConfig.life
      return [String(seconds), isDefault ? t('address_form_expiry_default', { time }) : time]
    })
}
