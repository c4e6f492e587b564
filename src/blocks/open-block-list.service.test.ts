import { syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openSqliteTestMail } from '../../test/kit/store/stores.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { StoreUnavailable } from '../base/problem.ts'
import { addBlock, type BlockDeps, importBlocks, parseBlockLines, removeBlock } from './blocks.ts'
import { openBlockList } from './open-block-list.ts'

const NOON = new Date('2026-03-01T12:00:00Z')

let opened: Awaited<ReturnType<typeof openSqliteTestMail>>
let time: Date
let deps: BlockDeps
beforeEach(async () => {
  opened = await openSqliteTestMail()
  time = NOON
  deps = { store: opened.store, own: { networks: [], domains: [] }, now: () => time }
})
afterEach(() => opened.close())

type ListStore = Parameters<typeof openBlockList>[0]['store']

describe('the list of a thread', () => {
  const log = { error() {} }
  const opening: Awaited<ReturnType<typeof openBlockList>>[] = []
  const open = async (store: ListStore = opened.other, options = {}) => {
    const list = await openBlockList({ store, log, now: () => time, intervalMs: 5, ...options })
    opening.push(list)
    return list
  }
  const closeAll = async () => {
    await Promise.all(opening.splice(0).map(({ close }) => close()))
  }
  afterEach(closeAll)
  const names = (count: number) => Array.from({ length: count }, (_, one) => `n${one}.test`)
  const importNames = (count: number) =>
    importBlocks(deps, parseBlockLines(names(count).join('\n')).entries, { report() {} })

  test('has every block when it is opened, and follows changes', async () => {
    await importNames(2_500)
    const list = await open()
    expect(names(2_500).every((name) => list.findBlock({ mailFrom: `a@${name}` }))).toBe(true)
    await removeBlock(deps, 'n7.test')
    await addBlock(deps, '2001:db8::/32', { ttl: '60s' })
    await waitUntil(() => list.findBlock({ clientIp: '2001:db8::9' }))
    expect(list.findBlock({ mailFrom: 'a@n7.test' })).toBeUndefined()
    time = new Date(NOON.getTime() + 60_000)
    expect(list.findBlock({ clientIp: '2001:db8::9' })).toBeUndefined()
  })

  test('tells what matched', async () => {
    for (const entry of ['192.0.2.0/24', 'bad.test', 'ann@mixed.test']) await addBlock(deps, entry)
    const { findMailBlock } = await open()
    const from = (...addresses: string[]) => ({ readFrom: () => addresses.values() })
    const many = Array.from({ length: 5_000 }, (_, index) => `a${index}@b.test`)
    for (const [facts, reason] of [
      [{ clientIp: '192.0.2.9', mailFrom: 'a@bad.test', ...from() }, 'client'],
      [{ clientIp: '198.51.100.9', mailFrom: 'a@x.bad.test', ...from('a@bad.test') }, 'mail_from'],
      [{ mailFrom: '', ...from('bob@mixed.test', 'ann@mixed.test') }, 'from_header'],
      [{ clientIp: '198.51.100.9', mailFrom: 'bob@mixed.test', ...from('') }, undefined],
      [from(...many, 'ann@mixed.test', ...many), 'from_header'],
      [from(...many, ...many), undefined],
    ] as const) {
      expect(await findMailBlock(facts)).toBe(reason)
    }
  })

  test('lets others proceed while a mail has many From addresses', async () => {
    await addBlock(deps, 'bad.test')
    const { findMailBlock } = await open()
    let turns = 0
    let isOver = false
    const readFrom = () => Array<string>(100_000).fill('a@b.test').values()
    const search = Promise.resolve(findMailBlock({ readFrom })).then(() => {
      isOver = true
    })
    for (; !isOver; turns += 1) await setImmediate()
    await search
    expect(turns).toBeGreaterThan(50)
  })

  test('does not read From unless senders are blocked', async () => {
    await addBlock(deps, '192.0.2.0/24')
    const { findMailBlock } = await open()
    const readFrom = () => {
      throw new Error('was read')
    }
    expect(
      findMailBlock({ clientIp: '198.51.100.9', mailFrom: 'a@b.test', readFrom }),
    ).toBeUndefined()
  })

  test('stays as it is while the store is unavailable, and catches up', async () => {
    let isDown = false
    await addBlock(deps, 'old.test')
    let failed = 0
    const list = await open({
      ...opened.other,
      async lastBlockChange() {
        if (!isDown) return await opened.other.lastBlockChange()
        failed += 1
        throw new StoreUnavailable()
      },
    })
    isDown = true
    await addBlock(deps, 'new.test')
    await waitUntil(() => failed > 1)
    expect(list.findBlock({ mailFrom: 'a@old.test' })).toBe('mail_from')
    expect(list.findBlock({ mailFrom: 'a@new.test' })).toBeUndefined()
    isDown = false
    await waitUntil(() => list.findBlock({ mailFrom: 'a@new.test' }))
  })

  describe('by a clock that the test moves', () => {
    beforeEach(() => moveTimers(() => mock.timers.enable({ apis: ['setTimeout'] })))
    afterEach(async () => {
      await closeAll()
      moveTimers(() => mock.timers.reset())
    })

    /** In small steps, each with time for the queries that it starts. */
    async function pass(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += 50) {
        await finishQueries()
        mock.timers.tick(50)
      }
      await finishQueries()
    }

    test('a block is in force, and has ended, within a second on two nodes', async () => {
      const options = { intervalMs: undefined }
      const nodes = [await open(opened.store, options), await open(opened.other, options)]
      const blocked = () => nodes.map(({ findBlock }) => findBlock({ mailFrom: 'a@bad.test' }))
      // Whenever it happens between two polls.
      for (const offset of [0, 50, 350]) {
        await pass(offset)
        await addBlock(deps, 'bad.test')
        await pass(1_000)
        expect(blocked()).toEqual(['mail_from', 'mail_from'])
        await removeBlock(deps, 'bad.test')
        await pass(1_000)
        expect(blocked()).toEqual([undefined, undefined])
      }
    })

    test('changes are in force during a reload of many pages', async () => {
      await importNames(5_500)
      const pages: number[] = []
      const store: ListStore = {
        ...opened.other,
        async readBlockChanges(after, limit) {
          pages.push(after)
          return await opened.other.readBlockChanges(after, limit)
        },
      }
      const list = await open(store, { intervalMs: 50, reloadMs: 0 })
      await pass(50)
      await addBlock(deps, 'bad.test')
      await removeBlock(deps, 'n7.test')
      pages.length = 0
      await pass(50)
      // The two changes, and one page of the reload.
      expect(pages).toEqual([5_500, expect.any(Number)])
      expect(pages[1]).toBeLessThan(5_500)
      const blocks = (name: string) => list.findBlock({ mailFrom: `a@${name}` }) !== undefined
      for (let poll = 0; poll < 15; poll += 1) {
        expect(['bad.test', 'n7.test', 'n8.test'].map(blocks)).toEqual([true, false, true])
        await pass(50)
      }
      expect(pages.filter((after) => after === 0).length).toBeGreaterThan(1)
    })

    test('a failover that lost changes is noticed, at the latest by the next reload', async () => {
      const standby = await openSqliteTestMail()
      onTestFinished(standby.close)
      const onStandby = { ...deps, store: standby.store }
      let active: ListStore = opened.other
      const store: ListStore = {
        lastBlockChange: () => active.lastBlockChange(),
        readBlockChanges: (after, limit) => active.readBlockChanges(after, limit),
      }
      await addAll(deps, ['both.test', 'lost.test', 'lost2.test'])
      await addAll(onStandby, ['both.test'])
      const hourly = await open(store, { intervalMs: 50 })
      const constantly = await open(store, { intervalMs: 50, reloadMs: 0 })
      const blocks = ({ findBlock }: typeof hourly) =>
        ['both.test', 'lost.test', 'new.test'].filter((name) =>
          findBlock({ mailFrom: `a@${name}` }),
        )
      await pass(100)
      expect(blocks(hourly)).toEqual(['both.test', 'lost.test'])
      active = standby.other
      await pass(50)
      expect(blocks(hourly)).toEqual(['both.test'])
      await addAll(onStandby, ['new.test'])
      await pass(50)
      expect(blocks(hourly)).toEqual(['both.test', 'new.test'])
      // Back to one with more changes, but others: only a reload can see that.
      active = opened.other
      await pass(100)
      expect(blocks(constantly)).toEqual(['both.test', 'lost.test'])
    })
  })
})

async function addAll(to: BlockDeps, entries: readonly string[]): Promise<void> {
  for (const entry of entries) await addBlock(to, entry)
}

async function finishQueries(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
}

/** Modules have imported the functions by name. */
function moveTimers(change: () => void): void {
  change()
  syncBuiltinESMExports()
}
