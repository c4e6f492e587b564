import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { at, DAY, HOUR, type OpenMailStore } from '../../../test/kit/store/fixture.ts'
import { type BlockEntry, blockList, parseBlockEntry } from '../../blocks/rules.ts'

export function blocksContract(open: () => Promise<OpenMailStore>): void {
  let opened: OpenMailStore
  beforeEach(async () => {
    opened = await open()
  })
  afterEach(() => opened.close())

  const entriesOf = (...texts: string[]): BlockEntry[] => texts.map((text) => parseBlockEntry(text))
  const add = (
    texts: string[],
    { note = '', expiresAt = undefined as Date | undefined, now = at(0) } = {},
  ) => opened.store.addBlocks({ entries: entriesOf(...texts), note, expiresAt, now })
  const list = async (
    query: { limit?: number; before?: number; text?: string; now?: Date } = {},
  ) => {
    const found = await opened.other.listBlocks({ now: at(1), limit: 100, ...query })
    return found.map(({ entry }) => entry as string)
  }

  test('blocks are listed with note and end, last changed first', async () => {
    expect(await add(['a.test', 'b@c.test'], { note: 'spam, "ünï"' })).toBe(2)
    expect(await add(['192.0.2.0/24'], { expiresAt: at(HOUR) })).toBe(1)
    const [last, ...rest] = await opened.other.listBlocks({ now: at(1), limit: 10 })
    const number = last?.number ?? 0
    expect(last).toStrictEqual({
      entry: '192.0.2.0/24',
      note: '',
      createdAt: at(0),
      expiresAt: at(HOUR),
      number,
    })
    expect(rest.map(({ entry }) => entry as string).sort()).toStrictEqual(['a.test', 'b@c.test'])
    expect(new Set(rest.map(({ note, expiresAt }) => `${note} ${expiresAt}`))).toStrictEqual(
      new Set(['spam, "ünï" undefined']),
    )
    expect(await opened.other.countBlocks(at(1))).toBe(3)
    expect(await opened.other.countBlocks(at(HOUR))).toBe(2)
    expect((await list({ now: at(HOUR) })).length).toStrictEqual(2)
  })

  test('pages and texts select', async () => {
    for (const text of ['a.test', 'a_b.test', 'aab.test', 'x.example']) await add([text])
    expect(await list({ limit: 2 })).toStrictEqual(['x.example', 'aab.test'])
    const [, second] = await opened.store.listBlocks({ now: at(1), limit: 2 })
    expect(await list({ before: second?.number ?? 0 })).toStrictEqual(['a_b.test', 'a.test'])
    expect(await list({ text: 'a_b' })).toStrictEqual(['a_b.test'])
    expect(await list({ text: '.test', limit: 1 })).toStrictEqual(['aab.test'])
    expect(await list({ text: '%' })).toStrictEqual([])
  })

  test('adding a block again replaces its note and end', async () => {
    await add(['a.test', 'b.test'], { note: 'old', expiresAt: at(HOUR) })
    expect(await add(['a.test', 'c.test'], { note: 'new', now: at(5) })).toBe(1)
    const found = await opened.other.listBlocks({ now: at(6), limit: 10, text: 'a.test' })
    expect(
      found.map(({ note, createdAt, expiresAt }) => ({ note, createdAt, expiresAt })),
    ).toStrictEqual([{ note: 'new', createdAt: at(5), expiresAt: undefined }])
    expect(await opened.other.countBlocks(at(6))).toBe(3)
  })

  test('removed blocks end now; unknown and expired ones are not counted', async () => {
    await add(['a.test', 'b.test', 'c.test'])
    await add(['d.test'], { expiresAt: at(5) })
    expect(
      await opened.store.removeBlocks(entriesOf('a.test', 'c.test', 'd.test', 'e.test'), at(10)),
    ).toBe(2)
    expect(await list({ now: at(10) })).toStrictEqual(['b.test'])
    expect(await add(['a.test'], { now: at(11) })).toBe(1)
  })

  test('a removal holds on nodes whose clocks are behind', async () => {
    await add(['a.test', 'b.test'])
    expect(await opened.store.removeBlocks(entriesOf('a.test'), at(HOUR))).toBe(1)
    expect(await list({ now: at(1) })).toStrictEqual(['b.test'])
    const blocked = blockList()
    for (const change of await opened.other.readBlockChanges(0, 10)) blocked.apply(change, at(1))
    expect(blocked.hasSender('x@a.test', at(1))).toBe(false)
    expect(blocked.hasSender('x@b.test', at(1))).toBe(true)
  })

  test('readers get every change once, in order, with those of other nodes', async () => {
    await add(['a.test', 'b.test'])
    const first = await opened.other.readBlockChanges(0, 10)
    expect(first.map(({ entry }) => entry as string).sort()).toStrictEqual(['a.test', 'b.test'])
    const last = first.at(-1)?.number ?? 0
    expect(await opened.store.readBlockChanges(last, 10)).toStrictEqual([])
    expect(await opened.other.lastBlockChange()).toBe(last)
    await opened.other.removeBlocks(entriesOf('a.test'), at(7))
    await add(['c.test'])
    const changes = await opened.other.readBlockChanges(last, 10)
    expect(changes.map(({ entry, expiresAt }) => [entry, expiresAt])).toStrictEqual([
      ['a.test', new Date(0)],
      ['c.test', undefined],
    ])
    expect(await opened.store.readBlockChanges(last, 1)).toStrictEqual(changes.slice(0, 1))
  })

  test('no reader misses a change of concurrent writers', async () => {
    const seen = new Set<string>()
    let last = 0
    let isDone = false
    const reading = (async () => {
      for (let isLast = false; !isLast; ) {
        isLast = isDone
        // SQLite reads without waiting for anything.
        await setImmediate()
        const committed = await opened.other.lastBlockChange()
        for (const { entry, number } of await opened.other.readBlockChanges(last, 1_000)) {
          seen.add(entry)
          last = number
          isLast = false
        }
        last = Math.max(last, committed)
      }
    })()
    await Promise.all(
      Array.from({ length: 40 }, (_, one) => {
        const store = one % 2 ? opened.store : opened.other
        const entries = entriesOf(`a${one}.test`, `b${one}.test`)
        return store.addBlocks({ entries, note: '', expiresAt: undefined, now: at(0) })
      }),
    )
    isDone = true
    await reading
    expect(seen.size).toBe(80)
  })

  test('expired and removed blocks are deleted a day later', async () => {
    await add(['a.test'], { expiresAt: at(HOUR) })
    await add(['gone.test'])
    await opened.store.removeBlocks(entriesOf('gone.test'), at(HOUR))
    await add(['b.test'])
    // By the sweep only: the clock of a command may be wrong.
    await add(['c.test'], { now: at(9 * DAY) })
    const sweep = (now: Date) => opened.store.sweepBlocks(now)
    await sweep(at(DAY + HOUR))
    expect((await opened.store.readBlockChanges(0, 10)).length).toBe(4)
    await sweep(at(DAY + HOUR + 1))
    expect(
      (await opened.store.readBlockChanges(0, 10)).map(({ entry }) => entry as string),
    ).toStrictEqual(['b.test', 'c.test'])
  })
}
