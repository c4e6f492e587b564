import { signal } from '@preact/signals'
import type { ApiResponses, Usage } from '../site/api.ts'
import { ApiError, NetworkError, type RequestOptions, requestJson } from '../site/api-client.ts'
import { tabStore } from '../site/storage.ts'

const STORAGE_NAME = 'key'

/** The key that was entered, until this tab is closed. */
export const storedKey = signal<string>(tabStore.get(STORAGE_NAME) ?? '')

export function storeKey(key: string): void {
  storedKey.value = key
  tabStore.set(STORAGE_NAME, key === '' ? undefined : key)
}

/** Calls an endpoint with the stored key: by POST if there are values. */
export function requestWithKey<T>(path: string, values?: RequestOptions['values']): Promise<T> {
  return requestJson<T>(path, {
    headers: { apikey: storedKey.value },
    ...(values && { method: 'POST', values }),
  })
}

export const usage = signal<Usage | undefined>(undefined)
export const usageError = signal<unknown>(undefined)
export const isLoading = signal(false)
/** By id: a key has only the id of its plan. */
export const planNames = signal<ReadonlyMap<string, string>>(new Map())

/** True once the reader has used a button: the focus then moves to what replaces it. */
export const hasInteracted = signal(false)

let latest = 0

/** Loads the usage of the stored key; the response for an earlier key is dropped. */
export async function loadUsage(): Promise<void> {
  latest += 1
  const current = latest
  isLoading.value = true
  usageError.value = undefined
  try {
    const found = await requestWithKey<Usage>('/usage')
    if (current === latest) usage.value = found
  } catch (error) {
    if (current !== latest) return
    usageError.value = error
    // Without a connection, the last known usage stays.
    if (error instanceof ApiError && error.code === 'invalid_key') usage.value = undefined
  } finally {
    if (current === latest) isLoading.value = false
  }
}

export function clearUsage(): void {
  latest += 1
  isLoading.value = false
  usage.value = undefined
  usageError.value = undefined
}

export async function loadPlanNames(): Promise<void> {
  try {
    const { plans } = await requestJson<ApiResponses['GET /api/plans']>('/api/plans')
    planNames.value = new Map(plans.map(({ id, name }) => [id, name]))
  } catch (error) {
    // The id of the plan is shown instead.
    if (!(error instanceof ApiError || error instanceof NetworkError)) throw error
  }
}
