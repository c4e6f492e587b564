import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import type { Answers } from '../site/api.ts'
import { ask, Refusal } from '../site/ask.ts'
import { Dialog } from '../site/dialog.tsx'
import { facts } from '../site/facts.ts'
import { faultWords } from '../site/fault-words.ts'
import type { Domains } from '../site/shapes.ts'
import { spanWords } from '../site/time-words.ts'
import { tell } from '../site/told.ts'
import { language, say } from '../site/words.ts'
import { createAddress } from './deeds.ts'
import { isUnfinished, nameFault, tidyName } from './name.ts'
import type { Wish } from './sessions.ts'
import { fullWords, ListFull } from './trouble.ts'

const MINUTE = 60
const DAY = 86_400
const LIVES = [10 * MINUTE, 60 * MINUTE, DAY, 7 * DAY, 30 * DAY]

/** Where the address is to be: a domain by its id, or an alias of a Gmail account. */
type Place = `domain ${number}` | `gmail ${number | 'any'}`

/** An address with a name, a domain and a life of one's own. */
export function OwnAddress({ onClose }: { onClose(): void }) {
  const offered = useSignal<Domains | undefined>(undefined)
  const name = useSignal('')
  const place = useSignal<Place | ''>('')
  const seconds = useSignal(facts.life)
  const refused = useSignal<Refused>({ of: 'all', words: '' })
  const making = useSignal(false)

  const load = async () => {
    refused.value = { of: 'all', words: '' }
    try {
      offered.value = await ask<Answers['GET /api/domains']>('/api/domains')
      place.value = placesOf(offered.value)[0]?.place ?? ''
    } catch (fault) {
      refused.value = { of: 'all', words: faultWords(fault) }
    }
  }
  useEffect(() => void load(), [])

  const make = async () => {
    making.value = true
    refused.value = { of: 'all', words: '' }
    try {
      const wish = { name: tidyName(name.value), ...wishOf(place.value), seconds: seconds.value }
      const { email } = await createAddress(wish)
      tell(say('address_told_new', { email }))
      onClose()
    } catch (fault) {
      refused.value = refusedOf(fault)
    }
    making.value = false
  }

  const wrong = nameFault(name.value)
  const said = wrong ? say(`address_name_${wrong}`) : nameWords(refused.value)
  return (
    <Dialog title={say('address_own_title')} onClose={onClose}>
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
        <PlaceField
          offered={offered.value}
          value={place.value}
          onChange={(chosen) => {
            place.value = chosen
            refused.value = { of: 'all', words: '' }
          }}
        />
        <LifeField
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
            {say('address_try')}
          </button>
        )}{' '}
        <button type="submit" disabled={!offered.value || wrong !== undefined || making.value}>
          {say('address_own_make')}
        </button>
      </form>
    </Dialog>
  )
}

interface Refused {
  of: 'name' | 'all'
  words: string
}

function nameWords({ of, words }: Refused): string {
  return of === 'name' ? words : ''
}

/** What is wrong with the name stands at the name. */
function refusedOf(fault: unknown): Refused {
  if (fault instanceof ListFull) return { of: 'all', words: fullWords() }
  const code = fault instanceof Refusal ? fault.code : ''
  if (code === 'address_taken') return { of: 'name', words: say('address_name_taken') }
  if (code === 'reserved_prefix') return { of: 'name', words: say('address_name_reserved') }
  if (code === 'invalid_prefix') return { of: 'name', words: say('address_name_characters') }
  if (code === 'gmail_unavailable') return { of: 'all', words: say('address_gmail') }
  return { of: 'all', words: faultWords(fault) }
}

function wishOf(place: Place | ''): Pick<Wish, 'domainId' | 'gmail'> {
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
      <label for={id}>{say('address_own_name')}</label>
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
        {fault || `${say('address_own_name_hint')} ${say('address_own_random')}`}
      </p>
    </div>
  )
}

interface PlaceFieldProps {
  offered: Domains | undefined
  value: Place | ''
  onChange(place: Place): void
}

function PlaceField({ offered, value, onChange }: PlaceFieldProps) {
  const id = useId()
  const places = offered ? placesOf(offered) : []
  return (
    <div class="field">
      <label for={id}>{say('address_own_at')}</label>
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
        {!offered && <option value="">{say('address_own_loading')}</option>}
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
function placesOf({ domains, gmail_accounts }: Domains): { place: Place; words: string }[] {
  const gmail = (words: string) => `${say('address_own_gmail')}: ${words}`
  return [
    ...domains.map(({ id, domain }) => ({ place: `domain ${id}` as const, words: `@${domain}` })),
    ...(gmail_accounts.length > 1
      ? [{ place: 'gmail any' as const, words: gmail(say('address_own_gmail_any')) }]
      : []),
    ...gmail_accounts.map(({ id, email }) => ({
      place: `gmail ${id}` as const,
      words: gmail(email),
    })),
  ]
}

function LifeField({ value, onChange }: { value: number; onChange(seconds: number): void }) {
  const id = useId()
  const lives = [...new Set([...LIVES.filter((life) => life <= facts.longest), facts.life])].sort(
    (a, b) => a - b,
  )
  return (
    <div class="field">
      <label for={id}>{say('address_own_life')}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}
      >
        {lives.map((life) => (
          <option key={life} value={life}>
            {lifeWords(life)}
          </option>
        ))}
      </select>
    </div>
  )
}

function lifeWords(seconds: number): string {
  const time = spanWords(seconds * 1000, language.value, 'long')
  return seconds === facts.life ? say('address_own_life_usual', { time }) : time
}
