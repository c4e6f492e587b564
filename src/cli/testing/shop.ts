import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach } from 'vitest'
import { openSqliteTestShop } from '../../../test/support/stores.ts'

export const NOON = new Date('2026-03-01T12:00:00Z')

/** For each test a shop of its own, at noon, and what the operator's commands print there. */
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
    book: () => ({ store: shop.store, now: () => NOON, randomBytes }),
    print: (line: string) => void lines.push(line),
    /** What the deed prints, and nothing that was printed before. */
    async printed(operation: Promise<void>): Promise<string> {
      lines = []
      await operation
      return lines.join('\n')
    },
  }
}
