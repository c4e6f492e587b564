import { maskAddress, parseAddress } from '../address.ts'
import type { LogFacts, Verbatim } from './log.ts'

// Callers leave secrets out of log messages. This is the safety net: a mistake, or an error message that quotes its input, must not
// put a token or an address into a file that many can read.

type RedactedValue = Exclude<LogFacts[string], Error | Verbatim> | ReturnType<typeof redactError>

const SECRET_NAMES = /token|key$|secret|password|authorization|cookie|body|^raw$/i
// A key is recognized by its prefix, as are secrets of a payment provider and passwords in a URL.
const KEY = /(mf_(?:live|test)_[A-Za-z0-9]{4})[A-Za-z0-9]+/g
const PROVIDER_SECRET = /(?<![A-Za-z0-9])(?:[sr]k|whsec)_[A-Za-z0-9_+/=-]+/g
const URL_PASSWORD = /:\/\/[^\s/:@]*:(?!\d{1,5}[/?#])\S+@/g
// Our tokens have 43 characters; nothing else that is logged has such runs.
const SECRET_RUN = /[A-Za-z0-9_-]{40,}/g
const ADDRESS = /[^\s<>@"'`,;:()[\]]{1,255}@([A-Za-z0-9.-]{1,255})/g
const MAX_TEXT = 500
const MAX_STACK = 3000
// Examined beyond the limit, so that a secret at the cut is still recognized.
const LOOKAHEAD = 1000

export function redactFacts(facts: LogFacts): Record<string, RedactedValue> {
  const redacted: Record<string, RedactedValue> = {}
  for (const [name, value] of Object.entries(facts)) redacted[name] = redactValue(name, value)
  return redacted
}

export function redactText(text: string, maxChars = MAX_TEXT): string {
  const redacted = withoutSecrets(text.slice(0, maxChars + LOOKAHEAD))
  if (redacted.length > maxChars) return `${redacted.slice(0, maxChars)}…`
  // Redaction made it so short that the end of the examined part would show, where a cut secret is not recognized.
  return text.length > maxChars + LOOKAHEAD ? `${redacted.replace(/\S+$/, '')}…` : redacted
}

function withoutSecrets(text: string): string {
  const unkeyed = text.includes('_')
    ? text.replace(KEY, '$1(hidden)').replace(PROVIDER_SECRET, '(hidden)')
    : text
  const unaddressed = unkeyed.includes('@')
    ? unkeyed.replace(URL_PASSWORD, '://(hidden)@').replace(ADDRESS, masked)
    : unkeyed
  return unaddressed.length < 40 ? unaddressed : unaddressed.replace(SECRET_RUN, '(hidden)')
}

function redactValue(name: string, value: LogFacts[string]): RedactedValue {
  if (value instanceof Error) return redactError(value)
  if (typeof value === 'object' && value !== null) return value.verbatim
  if (typeof value !== 'string') return value
  return SECRET_NAMES.test(name) ? '(hidden)' : redactText(value)
}

function redactError(error: Error) {
  const { stack, cause } = error
  return {
    type: error.name,
    message: redactText(error.message),
    ...('code' in error && { code: redactText(String(error.code)) }),
    ...(stack !== undefined && { stack: redactText(stack, MAX_STACK) }),
    ...(cause instanceof Error && { cause: redactText(`${cause.name}: ${cause.message}`) }),
  }
}

function masked(found: string, host: string): string {
  const address = parseAddress(found)
  return address ? maskAddress(address) : `…@${host}`
}
