import type { ComponentChild, ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Button, ErrorMessage, VERBATIM } from '../site/controls.tsx'
import { Dialog } from '../site/dialog.tsx'
import { t } from '../site/i18n.ts'
import { type Action, type Loaded, refresh, useAction } from './state.ts'
import { a } from './texts.ts'

interface EntryListProps<T> {
  label: string
  loaded: Loaded<unknown>
  entries: readonly T[] | undefined
  /** What is shown instead of an empty list. */
  none?: string
  /** What the buttons of the entries do. */
  action?: Action
  /** Buttons for the whole list. */
  foot?: ComponentChild
  keyOf(entry: T): string | number
  children(entry: T): ComponentChild
}

/** The entries of a view, with what is to be said while there are none, and the result of the last action. */
export function EntryList<T>(props: EntryListProps<T>) {
  const { label, loaded, entries, none, action, foot, keyOf, children } = props
  // An entry that changed meanwhile may be on two pages.
  const unique = new Map(entries?.map((entry) => [keyOf(entry), entry]))
  const keptFocus = useKeptFocus(action?.isBusy ?? false)
  return (
    <section class="panel" tabIndex={-1} {...keptFocus}>
      <ErrorMessage error={loaded.error} />
      {!entries && loaded.isLoading && <p class="soft entries-none">{t('site_loading')}</p>}
      {entries?.length === 0 && <p class="soft entries-none">{none ?? a('admin_none')}</p>}
      {entries && entries.length > 0 && (
        <ul class="entries" aria-label={label}>
          {[...unique].map(([key, entry]) => (
            <li key={key} tabIndex={-1}>
              {children(entry)}
            </li>
          ))}
        </ul>
      )}
      {loaded.showMore && (
        <Button class="plain" disabled={loaded.isLoading} onClick={loaded.showMore}>
          {a('admin_more')}
        </Button>
      )}
      {foot}
      {action && (
        <div class="admin-result">
          <ErrorMessage error={action.error} />
          <p role="status">{action.message}</p>
        </div>
      )}
    </section>
  )
}

/** A button is disabled while its action runs, and may be gone afterwards: then the entry at its place gets the focus. */
function useKeptFocus(isBusy: boolean) {
  const ref = useRef<HTMLElement>(null)
  const last = useRef<{ element: HTMLElement; at: number } | undefined>(undefined)
  useEffect(() => {
    if (isBusy || !last.current || document.activeElement !== document.body) return
    const { element, at } = last.current
    element.focus()
    if (document.activeElement === element) return
    const entries = ref.current?.querySelectorAll<HTMLElement>('.entries > li') ?? []
    const entry = entries[Math.min(at, entries.length - 1)] ?? ref.current
    entry?.focus()
  }, [isBusy])

  function onFocusIn({ target }: { target: EventTarget | null }): void {
    if (!(target instanceof HTMLElement) || target.closest('dialog')) return
    const entry = target.closest('.entries > li')
    const entries = [...(entry?.parentElement?.children ?? [])]
    last.current = { element: target, at: entry ? entries.indexOf(entry) : 0 }
  }
  return { ref, onFocusIn }
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
                    <dd>
                      <bdi>{value}</bdi>
                    </dd>
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

interface FindFormProps {
  label: string
  onFind(values: Readonly<Record<string, string>>): void
  /** More fields. */
  children?: ComponentChildren
}

/** Also finds the same again, which may have changed. */
export function FindForm({ label, onFind, children }: FindFormProps) {
  const id = useId()
  return (
    <form
      class="row admin-find"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onFind(textsOf(event.currentTarget))
        refresh()
      }}
    >
      <Field id={id} label={label}>
        <input id={id} name="find" type="search" {...VERBATIM} />
      </Field>
      {children}
      <button type="submit">{a('admin_find')}</button>
    </form>
  )
}

interface DialogFormProps {
  /** Of the button that opens it. */
  name: string
  /** Of the dialog; by default the same. */
  title?: string
  submit: string
  /** Of the list. */
  action: Action
  /** Returns what was done. */
  send(form: HTMLFormElement): Promise<string>
  children: ComponentChildren
}

/** A button that opens a form. */
export function DialogForm(props: DialogFormProps) {
  const { name, title = name } = props
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button class="plain" aria-label={title} onClick={() => setOpen(true)}>
        {name}
      </Button>
      {isOpen && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          <OpenForm {...props} close={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  )
}

function OpenForm({ submit, action, send, close, children }: DialogFormProps & { close(): void }) {
  const { isBusy, error, run } = useAction()
  return (
    <form
      class="stack"
      noValidate
      onSubmit={async (event) => {
        event.preventDefault()
        const form = event.currentTarget
        let message = ''
        const isSent = await run(async () => {
          message = await send(form)
        })
        if (!isSent) return
        close()
        await action.run(async () => {}, message)
      }}
    >
      {children}
      <ErrorMessage error={error} />
      <div class="row">
        <button type="submit" disabled={isBusy}>
          {submit}
        </button>
        <Button class="plain" onClick={close}>
          {t('site_cancel')}
        </Button>
      </div>
    </form>
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

/** The trimmed texts of a form; empty ones are left out. */
export function textsOf(form: HTMLFormElement): Record<string, string> {
  const texts = [...new FormData(form)].map(([name, text]) => [name, String(text).trim()] as const)
  return Object.fromEntries(texts.filter(([, text]) => text !== ''))
}

export function isTicked(form: HTMLFormElement, name: string): boolean {
  return new FormData(form).has(name)
}
