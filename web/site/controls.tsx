import type { ComponentChildren, ComponentProps } from 'preact'
import { errorText } from './api-client.ts'
import { Icon, type IconName } from './icon.tsx'

export interface ButtonProps extends ComponentProps<'button'> {
  icon?: IconName
}

/** Submits no form. */
export function Button({ icon, children, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A live region, so it is rendered even without an error. `error`: a text, or what a request threw. */
export function ErrorMessage({ error = '' }: { error: unknown }) {
  return (
    <p class="fault" role="alert">
      {typeof error === 'string' ? error : errorText(error)}
    </p>
  )
}

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  onSubmit(form: HTMLFormElement): void
}

/** Sent by us. The fields are checked by whoever gets them. */
export function Form({ onSubmit, ...rest }: FormProps) {
  return (
    <form
      noValidate
      {...rest}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit(event.currentTarget)
      }}
    />
  )
}

interface FieldProps {
  id: string
  label: ComponentChildren
  hint?: string | undefined
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

export type Option = readonly [value: string, text: string]

type SelectProps = ComponentProps<'select'> & {
  options: readonly Option[]
  onChoose?(value: string): void
}

export function Select({ options, onChoose, ...rest }: SelectProps) {
  return (
    <select {...rest} onChange={({ currentTarget }) => onChoose?.(currentTarget.value)}>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** For input that browsers must not correct: names, keys, tokens. */
export const VERBATIM = {
  dir: 'ltr',
  autocomplete: 'off',
  autocapitalize: 'off',
  spellcheck: false,
} as const
