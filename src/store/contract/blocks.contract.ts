import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, test } from 'vitest'
import { type BlockEntry, blockList, parseBlockEntry } from '../../blocks/rules.ts'
import { at, DAY, HOUR, type OpenMailStore } from './fixture.ts'

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
    assert.equal(await add(['a.test', 'b@c.test'], { note: 'spam, "ünï"' }), 2)
    assert.equal(await add(['192.0.2.0/24'], { expiresAt: at(HOUR) }), 1)
    const [last, ...rest] = await opened.other.listBlocks({ now: at(1), limit: 10 })
    const number = last?.number ?? 0
    assert.deepEqual(last, {
      entry: '192.0.2.0/24',
      note: '',
      createdAt: at(0),
      expiresAt: at(HOUR),
      number,
    })
    assert.deepEqual(rest.map(({ entry }) => entry as string).sort(), ['a.test', 'b@c.test'])
    assert.deepEqual(
      new Set(rest.map(({ note, expiresAt }) => `${note} ${expiresAt}`)),
      new Set(['spam, "ünï" undefined']),
    )
    assert.equal(await opened.other.countBlocks(at(1)), 3)
    assert.equal(await opened.other.countBlocks(at(HOUR)), 2)
    assert.deepEqual((await list({ now: at(HOUR) })).length, 2)
  })

  test('pages and texts select', async () => {
    for (const text of ['a.test', 'a_b.test', 'aab.test', 'x.example']) await add([text])
    assert.deepEqual(await list({ limit: 2 }), ['x.example', 'aab.test'])
    const [, second] = await opened.store.listBlocks({ now: at(1), limit: 2 })
    assert.deepEqual(await list({ before: second?.number ?? 0 }), ['a_b.test', 'a.test'])
    assert.deepEqual(await list({ text: 'a_b' }), ['a_b.test'])
    assert.deepEqual(await list({ text: '.test', limit: 1 }), ['aab.test'])
    assert.deepEqual(await list({ text: '%' }), [])
  })

  test('adding a block again replaces its note and end', async () => {
    await add(['a.test', 'b.test'], { note: 'old', expiresAt: at(HOUR) })
    assert.equal(await add(['a.test', 'c.test'], { note: 'new', now: at(5) }), 1)
    const found = await opened.other.listBlocks({ now: at(6), limit: 10, text: 'a.test' })
    assert.deepEqual(
      found.map(({ note, createdAt, expiresAt }) => ({ note, createdAt, expiresAt })),
      [{ note: 'new', createdAt: at(5), expiresAt: undefined }],
    )
    assert.equal(await opened.other.countBlocks(at(6)), 3)
  })

  test('removed blocks end now; unknown and expired ones are not counted', async () => {
    await add(['a.test', 'b.test', 'c.test'])
    await add(['d.test'], { expiresAt: at(5) })
    assert.equal(
      await opened.store.removeBlocks(entriesOf('a.test', 'c.test', 'd.test', 'e.test'), at(10)),
      2,
    )
    assert.deepEqual(await list({ now: at(10) }), ['b.test'])
    assert.equal(await add(['a.test'], { now: at(11) }), 1)
  })

  test('a removal holds on nodes whose clocks are behind', async () => {
    await add(['a.test', 'b.test'])
    assert.equal(await opened.store.removeBlocks(entriesOf('a.test'), at(HOUR)), 1)
    assert.deepEqual(await list({ now: at(1) }), ['b.test'])
    const blocked = blockList()
    for (const change of await opened.other.readBlockChanges(0, 10)) blocked.apply(change, at(1))
    assert.equal(blocked.hasSender('x@a.test', at(1)), false)
    assert.equal(blocked.hasSender('x@b.test', at(1)), true)
  })

  test('readers get every change once, in order, with those of other nodes', async () => {
    await add(['a.test', 'b.test'])
    const first = await opened.other.readBlockChanges(0, 10)
    assert.deepEqual(first.map(({ entry }) => entry as string).sort(), ['a.test', 'b.test'])
    const last = first.at(-1)?.number ?? 0
    assert.deepEqual(await opened.store.readBlockChanges(last, 10), [])
    assert.equal(await opened.other.lastBlockChange(), last)
    await opened.other.removeBlocks(entriesOf('a.test'), at(7))
    await add(['c.test'])
    const changes = await opened.other.readBlockChanges(last, 10)
    assert.deepEqual(
      changes.map(({ entry, expiresAt }) => [entry, expiresAt]),
      [
        ['a.test', new Date(0)],
        ['c.test', undefined],
      ],
    )
    assert.deepEqual(await opened.store.readBlockChanges(last, 1), changes.slice(0, 1))
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
    assert.equal(seen.size, 80)
  })

  test('expired and removed blocks are deleted a day later', async () => {
    await add(['a.test'], { expiresAt: at(HOUR) })
    await add(['gone.test'])
    await opened.store.removeBlocks(entriesOf('gone.test'), at(HOUR))
    await add(['b.test'])
    // By the sweep only: the clock of a command may be wrong.
    await add(['c.test'], { now: at(9 * DAY) })
    const sweep = (now: Date) =>
      opened.store.sweep({ now, cooldownMs: DAY, poolMs: DAY, operatorMs: DAY })
    await sweep(at(DAY + HOUR))
    assert.equal((await opened.store.readBlockChanges(0, 10)).length, 4)
    await sweep(at(DAY + HOUR + 1))
    assert.deepEqual(
      (await opened.store.readBlockChanges(0, 10)).map(({ entry }) => entry as string),
      ['b.test', 'c.test'],
    )
  })
}
