import { signal } from '@preact/signals'
import type { ApiResponses } from '../site/api.ts'
import { ApiError, requestJson } from '../site/api-client.ts'
import { storedKey } from './key-state.ts'

export type Webhook = ApiResponses['GET /webhooks']['webhooks'][number]
export type Delivery = ApiResponses['GET /webhooks/{id}/deliveries']['deliveries'][number]
export type TestResult = ApiResponses['POST /webhooks/{id}/test']['delivery']

/** Undefined until they are loaded, and if the operator has disabled webhooks. */
export const webhooks = signal<Webhook[] | undefined>(undefined)
export const deliveries = signal<Readonly<Record<string, Delivery[]>>>({})
export const testResults = signal<Readonly<Record<string, TestResult>>>({})
/** The newest secret, while it is shown. */
export const shownSecret = signal<{ webhookId: string; secret: string } | undefined>(undefined)
export const webhookError = signal<unknown>('')
export const isBusy = signal(false)

const call = <T>(path: string, values?: Record<string, string | undefined>) =>
  requestJson<T>(`/webhooks${path}`, {
    headers: { apikey: storedKey.value },
    ...(values && { method: 'POST' as const, values }),
  })

export function clearWebhooks(): void {
  webhooks.value = undefined
  deliveries.value = {}
  testResults.value = {}
  shownSecret.value = undefined
  webhookError.value = ''
}

export async function loadWebhooks(): Promise<void> {
  try {
    webhooks.value = (await call<ApiResponses['GET /webhooks']>('')).webhooks
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_allowed') webhooks.value = undefined
    else webhookError.value = error
  }
}

export async function loadDeliveries(id: string): Promise<void> {
  await run(async () => {
    const path = `/${id}/deliveries`
    const found = await call<ApiResponses['GET /webhooks/{id}/deliveries']>(path)
    deliveries.value = { ...deliveries.value, [id]: found.deliveries }
  })
}

/** True if it was created. */
export async function createWebhook(url: string, to: string): Promise<boolean> {
  return await run(async () => {
    const values = { url, to: to === '' ? undefined : to }
    const { webhook } = await call<ApiResponses['POST /webhooks']>('', values)
    shownSecret.value = { webhookId: webhook.id, secret: webhook.secret }
    await loadWebhooks()
  })
}

export async function testWebhook(id: string): Promise<void> {
  await run(async () => {
    const path = `/${id}/test`
    const { delivery } = await call<ApiResponses['POST /webhooks/{id}/test']>(path, {})
    testResults.value = { ...testResults.value, [id]: delivery }
  })
}

export async function rollSecret(id: string): Promise<void> {
  await run(async () => {
    const path = `/${id}/roll-secret`
    const { secret } = await call<ApiResponses['POST /webhooks/{id}/roll-secret']>(path, {})
    shownSecret.value = { webhookId: id, secret }
  })
}

export async function changeWebhook(
  id: string,
  change: 'enable' | 'delete' | 'replay',
): Promise<void> {
  await run(async () => {
    await call(`/${id}/${change}`, change === 'replay' ? { since_id: '0' } : {})
    if (change === 'delete' && shownSecret.value?.webhookId === id) shownSecret.value = undefined
    await loadWebhooks()
  })
}

async function run(operation: () => Promise<void>): Promise<boolean> {
  if (isBusy.value) return false
  isBusy.value = true
  webhookError.value = ''
  try {
    await operation()
    return true
  } catch (error) {
    webhookError.value = error
    return false
  } finally {
    isBusy.value = false
  }
}
