import type { ComponentChild, ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Action, ActionButton, type ActionView } from '../site/action.tsx'
import { Button, ErrorMessage } from '../site/controls.tsx'
import type { FactList } from '../site/facts.tsx'
import { t } from '../site/i18n.ts'
import { useKeptFocus } from '../site/kept-focus.ts'
import type { ApiResponses } from './api.ts'
import { DialogForm, FieldForm, type FieldView, type FormValues, type FormView } from './form.tsx'
import { type EntryOf, entriesOf, type Loaded, refresh, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

export interface EntryView {
  /** Unique in the list; by default the name. */
  key?: string | number
  /** For screen readers: what its buttons are about. */
  name: string
  /** By default the name. */
  title?: ComponentChild
  badge?: readonly [text: string, tone: 'good' | 'bad' | 'warn' | ''] | false
  facts: FactList
  actions?: readonly (AnyAction | false)[]
  /** Below. */
  children?: ComponentChildren
}

/** A form to fill in before the action. */
export interface FormActionView {
  text: string
  form: FormView
  run(values: FormValues): Promise<string>
}

interface LinkView {
  text: string
  href: string
}

type AnyAction = ActionView | FormActionView | LinkView

type ListName =
  | 'accounts'
  | 'blocks'
  | 'checks'
  | 'domains'
  | 'keys'
  | 'mail'
  | 'mail-log'
  | 'orders'
  | 'own-domains'
  | 'sessions'
  | 'webhooks'
type List<Name extends ListName> = ApiResponses[`GET /admin/api/${Name}`]

interface ListOptions<Name extends ListName> {
  lead?: string
  /** Instead of an empty list. */
  none?: string
  /** Its parameters that the operator may set: what to find, and choices. */
  find?: readonly FieldView[]
  findValues?(values: FormValues): FormValues
  /** Adds an entry. */
  add?: FormActionView
  head?(loaded: Loaded<List<Name>>, action: Action): ComponentChild
  sort?(entries: EntryOf<List<Name>>[]): EntryOf<List<Name>>[]
  entry(entry: EntryOf<List<Name>>): EntryView
  /** For the whole list. */
  foot?(newest: EntryOf<List<Name>>): ActionView
}

/** A view of the entries of the endpoint with this name, and what can be done to them. */
export function listView<Name extends ListName>(name: Name, options: () => ListOptions<Name>) {
  return () => <ListView name={name} {...options()} />
}

function ListView<Name extends ListName>(props: ListOptions<Name> & { name: Name }) {
  const { name, lead, none = a('admin_none'), find, add, head, foot } = props
  const { findValues = (values) => values, sort = (entries) => entries } = props
  const [query, setQuery] = useState<FormValues>({})
  const loaded = useLoaded(`GET /admin/api/${name}` as const, query)
  const action = useAction(loaded.reload)
  const entries = loaded.value && sort(entriesOf(loaded.value))
  const [newest] = entries ?? []
  const isFound = find?.some(
    ({ name, options }) => query[name] !== undefined && query[name] !== options?.[0]?.[0],
  )
  // Also finds the same again, which may have changed.
  const onFind = (values: FormValues) => {
    setQuery(findValues(values))
    refresh()
  }
  return (
    <>
      {lead !== undefined && <p class="soft">{lead}</p>}
      {(find || add) && (
        <div class="row admin-tools">
          {find && (
            <FieldForm class="row admin-find" fields={find} onSubmit={onFind}>
              <button type="submit">{a('admin_find')}</button>
            </FieldForm>
          )}
          {add && <DialogForm {...add} action={action} />}
        </div>
      )}
      {head?.(loaded, action)}
      <EntryList
        label={a(`admin_view_${name}`)}
        loaded={loaded}
        entries={entries?.map(props.entry)}
        none={isFound ? a('admin_not_found') : none}
        action={action}
      >
        {foot && newest && (
          <div class="row admin-foot">
            <ActionButton view={foot(newest)} action={action} />
          </div>
        )}
      </EntryList>
    </>
  )
}

interface EntryListProps {
  label: string
  loaded: Loaded<unknown>
  entries: readonly EntryView[] | undefined
  none: string
  action: Action
  children: ComponentChildren
}

/** With what is to be said while there are none, and the result of the last action. */
function EntryList({ label, loaded, entries, none, action, children }: EntryListProps) {
  const keptFocus = useKeptFocus(loaded.value, '.entries > li')
  return (
    <section class="panel" tabIndex={-1} {...keptFocus}>
      <ErrorMessage error={loaded.error} />
      {!entries && loaded.isLoading && <p class="soft entries-none">{t('site_loading')}</p>}
      {entries?.length === 0 && <p class="soft entries-none">{none}</p>}
      {entries && entries.length > 0 && <Entries label={label} entries={entries} action={action} />}
      {loaded.showMore && (
        <Button class="plain" disabled={loaded.isLoading} onClick={loaded.showMore}>
          {a('admin_more')}
        </Button>
      )}
      {children}
      <ActionResult action={action} />
    </section>
  )
}

/** Of the last action. */
export function ActionResult({ action }: { action: Action }) {
  return (
    <div class="admin-result">
      <ErrorMessage error={action.error} />
      <p role="status">{action.message}</p>
    </div>
  )
}

type EntriesProps = Pick<EntryListProps, 'label' | 'action'> & { entries: readonly EntryView[] }

export function Entries({ label, entries, action }: EntriesProps) {
  // An entry that changed meanwhile may be on two pages.
  const unique = new Map(entries.map((entry) => [entry.key ?? entry.name, entry]))
  return (
    <ul class="entries" aria-label={label}>
      {[...unique].map(([key, entry]) => (
        <li key={key} tabIndex={-1}>
          <Entry view={entry} action={action} />
        </li>
      ))}
    </ul>
  )
}

function Entry({ view, action }: { view: EntryView; action: Action }) {
  const { name, title = <bdi dir="ltr">{name}</bdi>, badge, facts, actions = [], children } = view
  const shown = actions.filter((one) => one !== false)
  return (
    <>
      <div class="entry">
        <div class="entry-text">
          <div class="entry-title">
            {title} {badge && <span class={`badge ${badge[1]}`}>{badge[0]}</span>}
          </div>
          <dl class="entry-facts">
            {facts.map(
              ([name, value]) =>
                value !== null && (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>
                      <bdi>{value}</bdi>
                    </dd>
                  </div>
                ),
            )}
          </dl>
        </div>
        {shown.length > 0 && (
          <div class="row entry-actions">
            {shown.map((one) => (
              <AnyActionButton key={one.text} view={one} name={name} action={action} />
            ))}
          </div>
        )}
      </div>
      {children}
    </>
  )
}

function AnyActionButton({
  view,
  name,
  action,
}: {
  view: AnyAction
  name: string
  action: Action
}) {
  if ('form' in view) return <DialogForm {...view} action={action} />
  if ('run' in view) return <ActionButton view={view} name={name} action={action} />
  return (
    <a class="button plain" href={view.href} aria-label={`${view.text}: ${name}`}>
      {view.text}
    </a>
  )
}
