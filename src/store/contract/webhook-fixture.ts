import { afterEach, beforeEach, expect } from 'vitest'
import { KEY, later, NOON, type OpenShopStore } from '../../../test/kit/store/shop-fixture.ts'
import type { Address } from '../../base/address.ts'
import type { NewKey } from '../../keys/store.ts'
import type { DisableReason, NewWebhook, RecordedAttempt, Webhook } from '../../webhooks/rules.ts'
import type { ShopStore } from '../store.ts'

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
    expect(await store.addWebhook({ ...HOOK, ...hook })).toBe(true)
  }
  async function read(): Promise<Webhook> {
    const webhook = await store.readWebhook('wh_1', NOON)
    expect.assert(webhook)
    return webhook
  }
  const used = async (now = NOON) => (await store.readKey('k1', now))?.used
  const usedByDay = async () => (await store.readUsage('k1', 0)).map(({ count }) => count)
  const charge = async (messageId: number, now = NOON) =>
    await store.chargeMessage(await read(), messageId, now)
  const record = async (more: Partial<RecordedAttempt> = {}) =>
    await store.recordAttempt({
      webhookId: 'wh_1',
      url: HOOK.url,
      messageId: 101,
      replay: 0,
      attempt: 1,
      status: 200,
      error: null,
      ms: 12,
      at: NOON,
      dueAt: (await store.readWebhook('wh_1', NOON))?.nextAttemptAt,
      failed: undefined,
      ...more,
    })
  const fail = (more: Partial<RecordedAttempt> = {}) => {
    const failures = more.attempt ?? 1
    const failed = { failures, failingSince: NOON, retryAt: later(5_000), disabled: undefined }
    return record({ status: 503, failed, ...more })
  }
  const disable = (disabled: DisableReason, more: Partial<RecordedAttempt> = {}) => {
    const status = disabled === 'gone' ? 410 : 503
    const failed = { failures: 1, failingSince: NOON, retryAt: undefined, disabled }
    return record({ status, failed, ...more })
  }

  return { store: () => store, addHook, read, used, usedByDay, charge, record, fail, disable }
}
