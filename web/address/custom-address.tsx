import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { announce } from '../site/announce.ts'
import type { Answers } from '../site/api.ts'
import { ApiError, type Domains, errorText, requestJson } from '../site/api-client.ts'
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

/** Where the address is to be: a domain by its id, or an alias of a Gmail account. */
type Source = `domain ${number}` | `gmail ${number | 'any'}`

/** An address with a name, a domain and a life of one's own. */
export function CustomAddressDialog({ onClose }: { onClose(): void }) {
  const offered = useSignal<Domains | undefined>(undefined)
  const name = useSignal('')
  const place = useSignal<Source | ''>('')
  const seconds = useSignal(siteConfig.life)
  const refused = useSignal<FormError>({ of: 'all', words: '' })
  const making = useSignal(false)

  const load = async () => {
    refused.value = { of: 'all', words: '' }
    try {
      offered.value = await requestJson<Answers['GET /api/domains']>('/api/domains')
      place.value = sourcesOf(offered.value)[0]?.place ?? ''
    } catch (fault) {
      refused.value = { of: 'all', words: errorText(fault) }
    }
  }
  useEffect(() => void load(), [])

  const make = async () => {
    making.value = true
    refused.value = { of: 'all', words: '' }
    try {
      const wish = {
        name: normaliseName(name.value),
        ...sourceOptions(place.value),
        seconds: seconds.value,
      }
      const { email } = await createMailbox(wish)
      announce(t('address_told_new', { email }))
      onClose()
    } catch (fault) {
      refused.value = formErrorFrom(fault)
    }
    making.value = false
  }

  const wrong = nameError(name.value)
  const said = wrong ? t(`address_name_${wrong}`) : nameErrorText(refused.value)
  return (
    <Dialog title={t('address_own_title')} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (!wrong && offered.value && !making.value) void make()
        }}
      >
        <NameField
          value={name.value}
          fault={isUnfinished(wrong) ? '' : said}
          onInput={(typed) => {
            name.value = typed
            refused.value = { of: 'all', words: '' }
          }}
        />
        <SourceField
          offered={offered.value}
          value={place.value}
          onChange={(chosen) => {
            place.value = chosen
            refused.value = { of: 'all', words: '' }
          }}
        />
        <LifetimeField
          value={seconds.value}
          onChange={(chosen) => {
            seconds.value = chosen
          }}
        />
        <p class="fault" role="alert">
          {refused.value.of === 'all' ? refused.value.words : ''}
        </p>
        {!offered.value && refused.value.words && (
          <button type="button" class="plain" onClick={() => void load()}>
            {t('address_try')}
          </button>
        )}{' '}
        <button type="submit" disabled={!offered.value || wrong !== undefined || making.value}>
          {t('address_own_make')}
        </button>
      </form>
    </Dialog>
  )
}

interface FormError {
  of: 'name' | 'all'
  words: string
}

function nameErrorText({ of, words }: FormError): string {
  return of === 'name' ? words : ''
}

/** What is wrong with the name stands at the name. */
function formErrorFrom(fault: unknown): FormError {
  if (fault instanceof TooManyMailboxes) return { of: 'all', words: listFullText() }
  const code = fault instanceof ApiError ? fault.code : ''
  if (code === 'address_taken') return { of: 'name', words: t('address_name_taken') }
  if (code === 'reserved_prefix') return { of: 'name', words: t('address_name_reserved') }
  if (code === 'invalid_prefix') return { of: 'name', words: t('address_name_characters') }
  if (code === 'gmail_unavailable') return { of: 'all', words: t('address_gmail') }
  return { of: 'all', words: errorText(fault) }
}

function sourceOptions(place: Source | ''): Pick<NewMailboxOptions, 'domainId' | 'gmail'> {
  const [kind, id = ''] = place.split(' ')
  if (kind === 'gmail') return { gmail: id === 'any' ? 'any' : Number(id) }
  return kind === 'domain' ? { domainId: Number(id) } : {}
}

interface NameFieldProps {
  value: string
  fault: string
  onInput(typed: string): void
}

function NameField({ value, fault, onInput }: NameFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{t('address_own_name')}</label>
      <input
        id={id}
        dir="ltr"
        value={value}
        aria-invalid={fault !== ''}
        aria-describedby={`${id}-hint`}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        autofocus
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <p id={`${id}-hint`} class={fault ? 'fault' : 'soft'} aria-live="polite">
        {fault || `${t('address_own_name_hint')} ${t('address_own_random')}`}
      </p>
    </div>
  )
}

interface SourceFieldProps {
  offered: Domains | undefined
  value: Source | ''
  onChange(place: Source): void
}

function SourceField({ offered, value, onChange }: SourceFieldProps) {
  const id = useId()
  const places = offered ? sourcesOf(offered) : []
  return (
    <div class="field">
      <label for={id}>{t('address_own_at')}</label>
      <select
        id={id}
        dir="ltr"
        value={value}
        disabled={!offered}
        onChange={({ currentTarget }) => {
          const chosen = places.find(({ place }) => place === currentTarget.value)
          if (chosen) onChange(chosen.place)
        }}
      >
        {!offered && <option value="">{t('address_own_loading')}</option>}
        {places.map(({ place, words }) => (
          <option key={place} value={place}>
            {words}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Gmail is offered only where the site has an account; which one may be left open. */
function sourcesOf({ domains, gmail_accounts }: Domains): { place: Source; words: string }[] {
  const gmail = (words: string) => `${t('address_own_gmail')}: ${words}`
  return [
    ...domains.map(({ id, domain }) => ({ place: `domain ${id}` as const, words: `@${domain}` })),
    ...(gmail_accounts.length > 1
      ? [{ place: 'gmail any' as const, words: gmail(t('address_own_gmail_any')) }]
      : []),
    ...gmail_accounts.map(({ id, email }) => ({
      place: `gmail ${id}` as const,
      words: gmail(email),
    })),
  ]
}

function LifetimeField({ value, onChange }: { value: number; onChange(seconds: number): void }) {
  const id = useId()
  const lives = [
    ...new Set([...LIFETIMES.filter((life) => life <= siteConfig.longest), siteConfig.life]),
  ].sort((a, b) => a - b)
  return (
    <div class="field">
      <label for={id}>{t('address_own_life')}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}
      >
        {lives.map((life) => (
          <option key={life} value={life}>
            {lifetimeText(life)}
          </option>
        ))}
      </select>
    </div>
  )
}

function lifetimeText(seconds: number): string {
  const time = formatDuration(seconds * 1000, language.value, 'long')
  return seconds === siteConfig.life ? t('address_own_life_usual', { time }) : time
}
