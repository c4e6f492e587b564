import type { ComponentChild, ComponentChildren } from 'preact'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import type { Loaded } from './state.ts'
import { a } from './texts.ts'

interface EntryListProps<T> {
  label: string
  loaded: Loaded<unknown>
  entries: readonly T[] | undefined
  /** What is shown instead of an empty list. */
  none?: string
  keyOf(entry: T): string | number
  children(entry: T): ComponentChild
}

/** The entries of a view, with what is to be said while there are none. */
export function EntryList<T>(props: EntryListProps<T>) {
  const { label, loaded, entries, none, keyOf, children } = props
  // An entry that changed meanwhile may be on two pages.
  const unique = new Map(entries?.map((entry) => [keyOf(entry), entry]))
  return (
    <>
      <ErrorMessage error={loaded.error} />
      {!entries && loaded.isLoading && <p class="soft">{t('site_loading')}</p>}
      {entries?.length === 0 && <p class="soft entries-none">{none ?? a('admin_none')}</p>}
      {entries && entries.length > 0 && (
        <ul class="entries" aria-label={label}>
          {[...unique].map(([key, entry]) => (
            <li key={key}>{children(entry)}</li>
          ))}
        </ul>
      )}
      {loaded.showMore && (
        <Button class="plain" disabled={loaded.isLoading} onClick={loaded.showMore}>
          {a('admin_more')}
        </Button>
      )}
    </>
  )
}

interface EntryProps {
  title: ComponentChild
  badges?: ComponentChildren
  /** Null: left out. */
  facts: readonly (readonly [name: string, value: string | number | null])[]
  /** Buttons. */
  actions?: ComponentChildren
  children?: ComponentChildren
}

export function Entry({ title, badges, facts, actions, children }: EntryProps) {
  return (
    <>
      <div class="entry">
        <div class="entry-text">
          <div class="entry-title">
            {title} {badges}
          </div>
          <dl class="entry-facts">
            {facts.map(
              ([name, value]) =>
                value !== null && (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                  </div>
                ),
            )}
          </dl>
        </div>
        {actions && <div class="row entry-actions">{actions}</div>}
      </div>
      {children}
    </>
  )
}

type Tone = 'good' | 'bad' | 'warn' | ''

export function Badge({ tone = '', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

interface FieldProps {
  id: string
  label: string
  hint?: string
  children: ComponentChildren
}

/** The input has the id, and `${id}-hint` describes it. */
export function Field({ id, label, hint, children }: FieldProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="soft">
          {hint}
        </p>
      )}
    </div>
  )
}

export function Tick(props: { name: string; label: string; checked?: boolean }) {
  return (
    <label class="tick">
      <input type="checkbox" name={props.name} defaultChecked={props.checked ?? false} />
      {props.label}
    </label>
  )
}

/** The trimmed text fields of a form; empty ones are left out. */
export function textsOf(form: HTMLFormElement, ...names: string[]): Record<string, string> {
  const values = new FormData(form)
  const texts = names.map((name) => [name, String(values.get(name) ?? '').trim()] as const)
  return Object.fromEntries(texts.filter(([, text]) => text !== ''))
}

export function isTicked(form: HTMLFormElement, name: string): boolean {
  return new FormData(form).has(name)
}
