import assert from 'node:assert/strict'
import { afterEach, beforeEach } from 'vitest'
import type { Address } from '../../base/address.ts'
import type { NewKey } from '../../keys/store.ts'
import type { DisableReason, Webhook } from '../../webhooks/rules.ts'
import type { NewWebhook, RecordedAttempt } from '../../webhooks/store.ts'
import type { ShopStore } from '../store.ts'
import { KEY, later, NOON, type OpenShopStore } from './shop-fixture.ts'

export const HOOK: NewWebhook = {
  id: 'wh_1',
  keyId: 'k1',
  url: 'https://receiver.example/',
  to: 'ann@mayfly.example' as Address,
  from: undefined,
  subject: 'code',
  createdAt: NOON,
  lastId: 100,
}

/** A shop for each test, and operations on one webhook in it. */
export function webhookFixture(open: () => Promise<OpenShopStore>) {
  let opened: OpenShopStore
  let store: ShopStore

  beforeEach(async () => {
    opened = await open()
    store = opened.store
  })
  afterEach(() => opened.close())

  async function addHook(key: Partial<NewKey> = {}, hook: Partial<NewWebhook> = {}) {
    await store.addKey({ ...KEY, ...key })
    assert.equal(await store.addWebhook({ ...HOOK, ...hook }, 10), true)
  }
  async function read(): Promise<Webhook> {
    const webhook = await store.readWebhook('wh_1')
    assert.ok(webhook)
    return webhook
  }
  const used = async (now = NOON) => (await store.readKey('k1', now))?.used
  const usedByDay = async () => (await store.readUsage('k1', 0)).map(({ count }) => count)
  const take = async (messageId: number, now = NOON) =>
    await store.takeMessage({ webhook: await read(), messageId, now })
  const record = async (more: Partial<RecordedAttempt> = {}) =>
    await store.recordAttempt({
      webhookId: 'wh_1',
      messageId: 101,
      replay: 0,
      attempt: 1,
      status: 200,
      error: undefined,
      ms: 12,
      at: NOON,
      dueAt: (await store.readWebhook('wh_1'))?.nextAttemptAt,
      result: 'delivered',
      ...more,
    })
  const fail = (more: Partial<RecordedAttempt> = {}) => {
    const streak = { failures: more.attempt ?? 1, failingSince: NOON }
    return record({ status: 503, result: { ...streak, retryAt: later(5_000) }, ...more })
  }
  const disable = (disabled: DisableReason, more: Partial<RecordedAttempt> = {}) => {
    const status = disabled === 'gone' ? 410 : 503
    return record({ status, result: { failures: 1, failingSince: NOON, disabled }, ...more })
  }

  return { store: () => store, addHook, read, used, usedByDay, take, record, fail, disable }
}
