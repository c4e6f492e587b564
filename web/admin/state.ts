import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, type RequestOptions, requestJson } from '../site/api-client.ts'
import type { ApiResponses } from './api.ts'
import { entryCount, nextOf, readEntries, readMore } from './pages.ts'

export type Response<Name extends keyof ApiResponses> = ApiResponses[Name]

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

export async function signOut(): Promise<void> {
  await call('POST /admin/api/sign-out')
  isSignedIn.value = false
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
  /** Of a list, as many entries as are shown. */
  reload(): Promise<void>
  /** Appends the next page of a list. Undefined if there is none. */
  showMore: (() => void) | undefined
}

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
  const shown = value && state.key === key ? entryCount(value) : 0
  const reload = () => load(() => readEntries(read, shown))
  useEffect(() => void reload(), [key, refreshes.value])
  const next = value && nextOf(value)
  const showMore = value && next ? () => void load(() => readMore(read, value, next)) : undefined
  return { value, error: state.error ?? '', isLoading, reload, showMore }
}

export interface Action {
  isBusy: boolean
  error: unknown
  /** What was done last; empty if it failed. */
  message: string
  /** True if it succeeded; then `done` is called. */
  run(operation: () => Promise<unknown>, message?: string): Promise<boolean>
}

/** One change at a time. */
export function useAction(done: () => Promise<unknown> = async () => {}): Action {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>('')
  const [message, setMessage] = useState('')
  return {
    isBusy,
    error,
    message,
    async run(operation, result = '') {
      setBusy(true)
      setError('')
      setMessage('')
      try {
        await operation()
        await done()
        setMessage(result)
        return true
      } catch (fault) {
        setError(shownError(fault))
        return false
      } finally {
        setBusy(false)
      }
    },
  }
}
