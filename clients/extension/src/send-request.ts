import { browser } from './browser.ts'
import type { contentRequests, pageRequests } from './requests.ts'
import { t } from './texts.ts'

type Requests = typeof contentRequests & typeof pageRequests

/** Sends a request to the background script. Throws the sentence to show. */
export async function sendRequest<Type extends keyof Requests>(
  type: Type,
  request: Parameters<Requests[Type]>[0],
): Promise<Awaited<ReturnType<Requests[Type]>>> {
  const response = await browser.runtime.sendMessage({ ...request, type }).catch(() => undefined)
  const { value, error } = (response ?? { error: t('error_internal') }) as {
    value: Awaited<ReturnType<Requests[Type]>>
    error?: string
  }
  if (error !== undefined) throw new Error(error)
  return value
}
