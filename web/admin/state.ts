import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, type RequestOptions, requestJson } from '../site/api-client.ts'
import type { ApiResponses } from './api.ts'

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
    const response = await requestJson<ApiResponses[Name]>(filled, options)
    isSignedIn.value = true
    return response
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      hasExpired.value = isSignedIn.value === true
      isSignedIn.value = false
    }
    throw error
  }
}

export async function signIn(token: string): Promise<void> {
  const options = { method: 'POST', token, withCookie: true } as const
  await requestJson('/admin/api/sign-in', options)
  hasExpired.value = false
  isSignedIn.value = true
}

export async function signOut(): Promise<void> {
  await call('POST /admin/api/sign-out')
  isSignedIn.value = false
}

const FIRST_LIMIT = 50
/** Of the API. */
const MAX_LIMIT = 10_000

export interface Loaded<T> {
  value: T | undefined
  error: unknown
  isLoading: boolean
  reload(): Promise<void>
  /** Of a list: loads four times as many entries. Undefined if the API returns no more. */
  showMore: (() => void) | undefined
}

/** What an endpoint returns, loaded when the values change. The response to earlier values is dropped. */
export function useLoaded<Name extends keyof ApiResponses>(
  name: Name,
  values: Values = {},
): Loaded<ApiResponses[Name]> {
  const key = JSON.stringify([name, values])
  const [limit, setLimit] = useState({ key, count: FIRST_LIMIT })
  const count = limit.key === key ? limit.count : FIRST_LIMIT
  const [state, setState] = useState<{ value?: ApiResponses[Name]; error?: unknown }>({})
  const [isLoading, setLoading] = useState(true)
  const latest = useRef(0)

  async function reload(): Promise<void> {
    latest.current += 1
    const current = latest.current
    setLoading(true)
    try {
      const value = await call(name, { limit: count, ...values })
      if (current === latest.current) setState({ value })
    } catch (error) {
      if (current === latest.current) setState((last) => ({ ...last, error }))
    } finally {
      if (current === latest.current) setLoading(false)
    }
  }

  useEffect(() => void reload(), [key, count])
  const next = Math.min(count * 4, MAX_LIMIT)
  const showMore = next > count ? () => setLimit({ key, count: next }) : undefined
  return { value: state.value, error: state.error ?? '', isLoading, reload, showMore }
}

export interface Action {
  isBusy: boolean
  error: unknown
  /** True if it succeeded; then `done` is called. */
  run(operation: () => Promise<unknown>): Promise<boolean>
}

/** One change at a time. */
export function useAction(done: () => Promise<unknown> = async () => {}): Action {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>('')
  return {
    isBusy,
    error,
    async run(operation) {
      setBusy(true)
      setError('')
      try {
        await operation()
        await done()
        return true
      } catch (fault) {
        setError(fault)
        return false
      } finally {
        setBusy(false)
      }
    },
  }
}
