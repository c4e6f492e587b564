import assert from 'node:assert/strict'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Asked, ask } from './ask.ts'

/** An order as the shop's clients know it. */
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
): Promise<Asked> {
  const body = new URLSearchParams({ plan: 'starter', ...params })
  return await ask(`${url}/api/checkout`, { method: 'POST', body, headers })
}

export async function order(url: string, params: Record<string, string> = {}): Promise<Order> {
  const { status, body, text } = await checkout(url, params)
  assert.equal(status, 200, text)
  return {
    id: String(body['order_id']),
    secret: String(body['claim_secret']),
    payUrl: String(body['url']),
  }
}

export async function look(url: string, { id, secret }: Order): Promise<Asked> {
  return await ask(`${url}/api/orders/${id}`, { headers: { 'claim-secret': secret } })
}

export async function claim(url: string, { id, secret }: Order): Promise<Asked> {
  const headers = { 'claim-secret': secret }
  return await ask(`${url}/api/orders/${id}/claim`, { method: 'POST', headers })
}

/** Clicks on the pay page of the test shop. */
export async function clickPay(url: string, { id }: Order, outcome = 'pay'): Promise<Asked> {
  const body = new URLSearchParams({ outcome })
  return await ask(`${url}/pay/${id}`, { method: 'POST', body })
}

/** As the operator does it beside the running service. */
export function revokeKeyOf({ folder }: { folder: string }, { id }: Order): void {
  const db = new Database(join(folder, 'shop.db'))
  const revoke = db.prepare(
    `update api_key set state = 'revoked' where id = (select key_id from purchase where id = ?)`,
  )
  const { changes } = revoke.run(id)
  db.close()
  assert.equal(changes, 1)
}
