import { afterEach, beforeEach, expect, test } from 'vitest'
import type { OpenMailStore } from '../../../test/kit/store/fixture.ts'

export function tlsContract(open: () => Promise<OpenMailStore>): void {
  let opened: OpenMailStore
  beforeEach(async () => {
    opened = await open()
  })
  afterEach(() => opened.close())

  test('entries are listed by kind and name, replaced and deleted', async () => {
    const { store, other } = opened
    const entry = { kind: 'certificate', name: 'mx.box.test', value: 'first' } as const
    await store.saveTlsEntry(entry)
    await store.saveTlsEntry({ ...entry, kind: 'challenge' })
    await store.saveTlsEntry({ ...entry, name: 'box.test' })
    await store.saveTlsEntry({ ...entry, value: 'second' })
    expect(await other.listTlsEntries('certificate')).toStrictEqual([
      { ...entry, name: 'box.test' },
      { ...entry, value: 'second' },
    ])
    await store.deleteTlsEntry('certificate', 'box.test')
    await store.deleteTlsEntry('certificate', 'box.test')
    expect(await other.listTlsEntries('certificate')).toStrictEqual([{ ...entry, value: 'second' }])
    expect(await other.listTlsEntries('challenge')).toHaveLength(1)
    expect(await other.listTlsEntries('account')).toStrictEqual([])
  })
}
