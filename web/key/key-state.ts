import { signal } from '@preact/signals'
import type { Answers } from '../site/api.ts'
import { ApiError, NetworkError, requestJson, type Usage } from '../site/api-client.ts'
import { tabStore } from '../site/storage.ts'

const STORAGE_NAME = 'key'

/** The key that the reader gave, until this tab is closed. */
export const storedKey = signal<string>(tabStore.get(STORAGE_NAME) ?? '')

export function storeKey(key: string): void {
  storedKey.value = key
  tabStore.set(STORAGE_NAME, key === '' ? undefined : key)
}

export const usage = signal<Usage | undefined>(undefined)
export const usageError = signal<unknown>(undefined)
export const isLoading = signal(false)
/** What the plans are called: a key knows only the id of its own. */
export const planNames = signal<ReadonlyMap<string, string>>(new Map())

/** True once the reader did something here: then the focus follows to what takes the place of it. */
export const hasInteracted = signal(false)

let latest = 0

/** Asks what is used of the key that is held; an answer about a former one is not shown. */
export async function loadUsage(): Promise<void> {
  latest += 1
  const mine = latest
  isLoading.value = true
  usageError.value = undefined
  try {
    const found = await requestJson<Usage>('/usage', { headers: { apikey: storedKey.value } })
    if (mine === latest) usage.value = found
  } catch (fault) {
    if (mine !== latest) return
    usageError.value = fault
    // What was known stays true when the site cannot be reached.
    if (fault instanceof ApiError && fault.code === 'invalid_key') usage.value = undefined
  } finally {
    if (mine === latest) isLoading.value = false
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
    const { plans } = await requestJson<Answers['GET /api/plans']>('/api/plans')
    planNames.value = new Map(plans.map(({ id, name }) => [id, name]))
  } catch (fault) {
    // Nothing is amiss without them: the id of a plan is a word too.
    if (!(fault instanceof ApiError || fault instanceof NetworkError)) throw fault
  }
}
