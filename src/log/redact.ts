import { maskAddress, parseAddress } from '../core/address.ts'
import type { LogFacts } from '../core/log.ts'

// Who writes a log line leaves secrets out. This is the net below: a slip, or an error text that quotes what it was
// given, must not put a token or somebody's address into a file that many can read.

type ClearValue = string | number | boolean | null | undefined | ClearError

interface ClearError {
  type: string
  message: string
  code?: string
  stack?: string
  cause?: string
}

const SECRET_NAMES = /token|key$|secret|password|authorization|cookie|body|^raw$/i
// A key is known by its prefix; a payment provider's secrets and a user with a password in a URL by how they begin.
const KEY = /(mf_(?:live|test)_[A-Za-z0-9]{4})[A-Za-z0-9]+/g
const PROVIDER_SECRET = /(?<![A-Za-z0-9])(?:[sr]k|whsec)_[A-Za-z0-9_+/=-]+/g
const URL_PASSWORD = /:\/\/[^\s/:@]*:(?!\d{1,5}[/?#])\S+@/g
// Our tokens have 43 characters; nothing else that we log comes in such runs.
const SECRET_RUN = /[A-Za-z0-9_-]{40,}/g
const ADDRESS = /[^\s<>@"'`,;:()[\]]{1,255}@([A-Za-z0-9.-]{1,255})/g
const MAX_TEXT = 500
const MAX_STACK = 3000
// Looked at beyond what is shown: the rest of a secret that the cut would fall into, by which it is known for one.
const BEYOND = 1000

export function clearFacts(facts: LogFacts): Record<string, ClearValue> {
  const clear: Record<string, ClearValue> = {}
  for (const [name, value] of Object.entries(facts)) clear[name] = clearValue(name, value)
  return clear
}

export function clearText(text: string, most = MAX_TEXT): string {
  const clear = withoutSecrets(text.slice(0, most + BEYOND))
  if (clear.length > most) return `${clear.slice(0, most)}…`
  // So much was hidden that the end of the look is in sight: what the look was cut in is not known for what it is.
  return text.length > most + BEYOND ? `${clear.replace(/\S+$/, '')}…` : clear
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

function clearValue(name: string, value: LogFacts[string]): ClearValue {
  if (value instanceof Error) return clearError(value)
  if (typeof value !== 'string') return value
  return SECRET_NAMES.test(name) ? '(hidden)' : clearText(value)
}

function clearError(error: Error): ClearError {
  const { stack, cause } = error
  return {
    type: error.name,
    message: clearText(error.message),
    ...('code' in error && { code: clearText(String(error.code)) }),
    ...(stack !== undefined && { stack: clearText(stack, MAX_STACK) }),
    ...(cause instanceof Error && { cause: clearText(`${cause.name}: ${cause.message}`) }),
  }
}

function masked(found: string, host: string): string {
  const address = parseAddress(found)
  return address ? maskAddress(address) : `…@${host}`
}
