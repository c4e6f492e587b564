import { expect } from 'vitest'
import { openShopStoreForCli } from '../../../src/runtime/stores.ts'
import type { App } from '../app/app.ts'
import { request, type TestResponse } from '../http/http-client.ts'

/** An order from the client's side. */
export interface Order {
  id: string
  secret: string
  payUrl: string
}

export const FAKE_SHOP = { MAYFLY_PAYMENTS: 'fake' }

export async function checkout(
  url: string,
  params: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  const body = new URLSearchParams({ plan: 'starter', ...params })
  return await request(`${url}/api/checkout`, { method: 'POST', body, headers })
}

export async function createOrder(
  url: string,
  params: Record<string, string> = {},
): Promise<Order> {
  const { status, body, text } = await checkout(url, params)
  expect(status, text).toBe(200)
  return {
    id: String(body['order_id']),
    secret: String(body['claim_secret']),
    payUrl: String(body['url']),
  }
}

export async function getOrder(url: string, { id, secret }: Order): Promise<TestResponse> {
  return await request(`${url}/api/orders/${id}`, { headers: { 'claim-secret': secret } })
}

export async function claim(url: string, { id, secret }: Order): Promise<TestResponse> {
  const headers = { 'claim-secret': secret }
  return await request(`${url}/api/orders/${id}/claim`, { method: 'POST', headers })
}

/** Clicks on the payment page of the test shop. */
export async function payOrder(url: string, { id }: Order, outcome = 'pay'): Promise<TestResponse> {
  const body = new URLSearchParams({ outcome })
  return await request(`${url}/pay/${id}`, { method: 'POST', body })
}

/** Like the operator's command, while the service runs. */
export async function revokeKeyOf({ config }: Pick<App, 'config'>, { id }: Order): Promise<void> {
  const shop = await openShopStoreForCli(config)
  const { keyId = '' } = (await shop.readOrder(id)) ?? {}
  expect(await shop.revokeKey(keyId)).toBeTruthy()
  await shop.close()
}
