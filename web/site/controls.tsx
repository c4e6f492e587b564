import type { ComponentProps } from 'preact'
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

/** For input that browsers must not correct: names, keys, tokens. */
export const VERBATIM = {
  dir: 'ltr',
  autocomplete: 'off',
  autocapitalize: 'off',
  spellcheck: false,
} as const
