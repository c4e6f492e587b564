import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { Action } from '../site/action.tsx'
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
import { t } from '../site/i18n.ts'
import { useAction } from './state.ts'

export interface FieldView {
  name: string
  label: string
  hint?: string
  /** A text in any language, which browsers may correct. */
  isProse?: true
  /** At first. True or false: a box to tick. */
  value?: string | boolean
  /** Values and texts to choose from. */
  options?: readonly Option[]
}

/** By the names of the fields. Texts are trimmed; undefined if they are empty. */
export type FormValues = Record<string, string | boolean | undefined>

interface FieldFormProps {
  fields: readonly FieldView[]
  class: string
  onInput?(): void
  onSubmit(values: FormValues): void
  /** Buttons. */
  children: ComponentChildren
}

export function FieldForm({ fields, onSubmit, children, ...rest }: FieldFormProps) {
  return (
    <Form {...rest} onSubmit={(form) => onSubmit(valuesOf(form, fields))}>
      {fields.map((field) => (
        <FieldInput key={field.name} {...field} />
      ))}
      {children}
    </Form>
  )
}

function valuesOf(form: HTMLFormElement, fields: readonly FieldView[]): FormValues {
  const data = new FormData(form)
  const values = fields.map(({ name, value }) => {
    if (typeof value === 'boolean') return [name, data.has(name)]
    return [name, String(data.get(name)).trim() || undefined]
  })
  return Object.fromEntries(values)
}

function FieldInput({ name, label, hint, isProse, value = '', options }: FieldView) {
  const id = useId()
  if (typeof value === 'boolean') {
    return (
      <label class="tick">
        <input type="checkbox" name={name} defaultChecked={value} />
        {label}
      </label>
    )
  }
  const attributes = {
    ...(isProse ? { autocomplete: 'off' } : VERBATIM),
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
  }
  return (
    <Field id={id} label={label} hint={hint}>
      {options ? (
        <Select id={id} name={name} options={options} />
      ) : (
        <input id={id} name={name} defaultValue={value} {...attributes} />
      )}
    </Field>
  )
}

export interface FormView {
  /** Title of the dialog; by default as the button that opens it. */
  title?: string
  submit: string
  fields: readonly FieldView[]
  /** For what is refused without `force`: what to say about the error, and the button that sends the form with it. */
  warning?: { text(error: unknown, values: FormValues): string | undefined; submit: string }
}

interface DialogFormProps {
  /** Class of the button. */
  text: string
  form: FormView
  /** Returns what was done. */
  run(values: FormValues): Promise<string>
  /** Action of the list. */
  action: Action
}

/** A button that opens a form. */
export function DialogForm({ text, form, run, action }: DialogFormProps) {
  const { title = text, submit, fields, warning } = form
  const [warned, setWarned] = useState('')
  const [isOpen, setOpen] = useState(false)
  const sending = useAction()
  const close = () => {
    setOpen(false)
    setWarned('')
  }

  async function send(values: FormValues): Promise<void> {
    const message = await sending.run(async () => {
      try {
        return await run(warned === '' ? values : { ...values, force: true })
      } catch (error) {
        const about = warning?.text(error, values)
        if (about === undefined) throw error
        setWarned(about)
        return ''
      }
    })
    // Failed, or to be confirmed.
    if (!message) return
    close()
    await action.run(async () => message)
  }

  return (
    <>
      <Button class="plain" aria-label={title} onClick={() => setOpen(true)}>
        {text}
      </Button>
      {isOpen && (
        <Dialog title={title} onClose={close}>
          <FieldForm
            class="stack"
            fields={fields}
            onInput={() => setWarned('')}
            onSubmit={(values) => void send(values)}
          >
            <ErrorMessage error={warned || sending.error} />
            <div class="row">
              <button type="submit" class={warned && 'danger'} disabled={sending.isBusy}>
                {warned ? warning?.submit : submit}
              </button>
              <Button class="plain" onClick={close}>
                {t('site_cancel')}
              </Button>
            </div>
          </FieldForm>
        </Dialog>
      )}
    </>
  )
}
