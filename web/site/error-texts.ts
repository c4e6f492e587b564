import type { Catalogue } from '../../src/shared/translate.ts'
import { ApiError } from './api-client.ts'
import { t } from './i18n.ts'

/** What is shown of an error: for these codes a text in the user's language, else the error itself. */
export function errorTexts(names: Partial<Record<string, keyof Catalogue>>) {
  return (error: unknown): unknown => {
    const name = error instanceof ApiError ? names[error.code] : undefined
    return name ? t(name) : error
  }
}

/** Of the chosen name of an address. */
export const nameErrorText = errorTexts({
  address_taken: 'address_name_taken',
  reserved_prefix: 'address_name_reserved',
  invalid_prefix: 'address_name_characters',
})
