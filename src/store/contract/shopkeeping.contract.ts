import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { ShopStore } from '../store.ts'
import type { OpenShopStore } from './keys.contract.ts'

/** What every engine must do for the shop to keep itself in order. */
export function shopkeepingContract(open: () => Promise<OpenShopStore>): void {
  let opened: OpenShopStore
  let store: ShopStore

  beforeEach(async () => {
    opened = await open()
    store = opened.store
  })
  afterEach(() => opened.close())

  describe('the secret of the installation', () => {
    const secretOf = (byte: number) => new Uint8Array(32).fill(byte)
    const ask = async (byte: number) => [...(await store.installationSecret(secretOf(byte)))]

    test('is the first one given, for ever', async () => {
      assert.deepEqual(await ask(7), [...secretOf(7)])
      assert.deepEqual(await ask(8), [...secretOf(7)])
    })

    test('is one for all who ask at once', async () => {
      const heard = await Promise.all(Array.from({ length: 50 }, (_, at) => ask(at)))
      assert.equal(new Set(heard.map(String)).size, 1)
      assert.equal(heard[0]?.length, 32)
    })
  })
}
