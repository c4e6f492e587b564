import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach } from 'vitest'
import { openSqliteTestShop } from '../store/stores.ts'

export const NOON = new Date('2026-03-01T12:00:00Z')

/** A new shop for each test, at noon, and the output of the operator's commands. */
export function shopFixture() {
  let shop: Awaited<ReturnType<typeof openSqliteTestShop>>
  let lines: string[] = []

  beforeEach(async () => {
    shop = await openSqliteTestShop()
  })
  afterEach(() => shop.close())

  return {
    get store() {
      return shop.store
    },
    deps: () => ({ shop: shop.store, now: () => NOON, randomBytes }),
    print: (line: string) => void lines.push(line),
    /** The output of this operation only. */
    async printed(operation: Promise<void>): Promise<string> {
      lines = []
      await operation
      return lines.join('\n')
    },
  }
}
