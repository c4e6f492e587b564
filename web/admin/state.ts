import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Action, useAction as useSiteAction } from '../site/action.tsx'
import { ApiError, type RequestOptions, requestJson } from '../site/api-client.ts'
import type { ApiResponses } from './api.ts'

/** Undefined until the first response. */
export const isSignedIn = signal<boolean | undefined>(undefined)
/** Whether a sign-in has ended while the page was open. */
export const hasExpired = signal(false)

type Values = NonNullable<RequestOptions['values']>

/** Calls an endpoint by its name in api.ts. Values that the path names in braces go there. */
export async function call<Name extends keyof ApiResponses>(
  name: Name,
  values: Values = {},
): Promise<ApiResponses[Name]> {
  const [method, path = ''] = name.split(' ')
  const rest = { ...values }
  const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => {
    delete rest[key]
    return encodeURIComponent(String(values[key]))
  })
  try {
    const options = { method: method as 'GET' | 'POST', values: rest, withCookie: true }
    return await requestJson<ApiResponses[Name]>(filled, options)
  } catch (error) {
    if (error instanceof ApiError && error.status === 401 && isSignedIn.value) {
      hasExpired.value = true
      isSignedIn.value = false
    }
    throw error
  }
}

/** False if the browser has not kept the cookie: over http, it rejects that of an https page. */
export async function signIn(token: string): Promise<boolean> {
  const options = { method: 'POST', token, withCookie: true } as const
  await requestJson('/admin/api/sign-in', options)
  hasExpired.value = false
  return await checkSignIn()
}

/** Scripts cannot read the cookie: a request shows whether it is valid. */
export async function checkSignIn(): Promise<boolean> {
  try {
    await call('GET /admin/api/sign-in')
    isSignedIn.value = true
  } catch (error) {
    isSignedIn.value = false
    if (!(error instanceof ApiError && error.status === 401)) throw error
  }
  return isSignedIn.value
}

/** The API says why it is unavailable: the operator can do something about it. */
export function shownError(error: unknown): unknown {
  return error instanceof ApiError && error.status === 503 ? error.message : error
}

export async function signOut(): Promise<string> {
  const { message } = await call('POST /admin/api/sign-out')
  isSignedIn.value = false
  return message
}

const refreshes = signal(0)

/** Loads again what the page shows. */
export function refresh(): void {
  refreshes.value += 1
}

export interface Loaded<T> {
  value: T | undefined
  error: unknown
  isLoading: boolean
  /** Reloads as many entries of a list as are shown. */
  reload(): Promise<void>
  /** Appends the next page of a list. Undefined if there is none. */
  showMore: (() => void) | undefined
}

const NEXT_COUNT = 200

/** What an endpoint returns, loaded when the values change. The response to earlier values is dropped. */
export function useLoaded<Name extends keyof ApiResponses>(
  name: Name,
  values: Values = {},
): Loaded<ApiResponses[Name]> {
  const key = JSON.stringify([name, values])
  type State = { key: string; value?: ApiResponses[Name] | undefined; error?: unknown }
  const [state, setState] = useState<State>({ key })
  const [isLoading, setLoading] = useState(true)
  const latest = useRef(0)

  const read = (page: Values) => call(name, { ...values, ...page })

  async function load(operation: () => Promise<ApiResponses[Name]>): Promise<void> {
    latest.current += 1
    const current = latest.current
    setLoading(true)
    try {
      const value = await operation()
      if (current === latest.current) setState({ key, value })
    } catch (error) {
      if (current !== latest.current) return
      setState((last) => ({
        key,
        value: last.key === key ? last.value : undefined,
        error: shownError(error),
      }))
    } finally {
      if (current === latest.current) setLoading(false)
    }
  }

  const { value } = state
  const shown = value ? entriesOf(value).length : 0
  const reload = () => load(() => readEntries(read, state.key === key ? shown : 0))
  useEffect(() => void reload(), [key, refreshes.value])
  const more = () => void load(() => readEntries(read, shown + NEXT_COUNT, value))
  const showMore = value && nextOf(value) !== undefined ? more : undefined
  return { value, error: state.error ?? '', isLoading, reload, showMore }
}

// Lists of the API come in pages: `next` is the cursor of the next one.

/** Limits of the API, by default and at most. */
const FIRST_LIMIT = 50
const MAX_LIMIT = 1_000

type Page = { limit?: number; before?: string }

/** At least as many entries as `count`, in as few requests as possible, after those of `start`. What is not a list is read once. */
export async function readEntries<T extends object>(
  read: (page: Page) => Promise<T>,
  count: number,
  start?: T,
): Promise<T> {
  let value = start
  do {
    const missing = Math.min(count - (value ? entriesOf(value).length : 0), MAX_LIMIT)
    const before = value && nextOf(value)
    const page = await read({
      ...(missing > FIRST_LIMIT || before !== undefined ? { limit: missing } : {}),
      ...(before !== undefined && { before }),
    })
    value = value ? append(value, page) : page
  } while (entriesOf(value).length < count && nextOf(value) !== undefined)
  return value
}

/** Undefined at the end of a list. */
export function nextOf(value: object): string | undefined {
  return 'next' in value && typeof value.next === 'string' ? value.next : undefined
}

/** What a response lists: its only array. */
export type EntryOf<T> = {
  [Name in keyof T]: T[Name] extends readonly (infer Entry extends object)[] ? Entry : never
}[keyof T]

export function entriesOf<T extends object>(value: T): EntryOf<T>[] {
  return Object.values(value).find(Array.isArray) ?? []
}

function append<T extends object>(value: T, page: T): T {
  const entries = entriesOf(value)
  const fields = Object.entries(page).map(([name, added]) => [
    name,
    Array.isArray(added) ? [...entries, ...added] : added,
  ])
  return Object.fromEntries(fields) as T
}

/** One change at a time; `done` is called after each. */
export function useAction(done = async () => {}): Action {
  return useSiteAction({ done, shown: shownError })
}

/** An operation that calls an endpoint. */
export function calling(name: keyof ApiResponses, values: Values, done: string) {
  return async () => {
    await call(name, values)
    return done
  }
}
