import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSqliteTestMail } from '../../test/kit/store/stores.ts'
import {
  addBlock,
  type BlockDeps,
  importBlocks,
  listBlocks,
  parseBlockLines,
  removeBlock,
} from './blocks.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const HOUR = 3_600_000

let opened: Awaited<ReturnType<typeof openSqliteTestMail>>
let time: Date
let deps: BlockDeps
beforeEach(async () => {
  opened = await openSqliteTestMail()
  time = NOON
  deps = { store: opened.store, own: { networks: [], domains: [] }, now: () => time }
})
afterEach(() => opened.close())

describe('a block', () => {
  test('is listed with its kind, note and end until then', async () => {
    const options = { note: ' spam\r\nreport 17 ', ttl: '1h' }
    expect(await addBlock(deps, 'Spam.Example', options)).toEqual({
      entry: 'spam.example',
      kind: 'domain',
      isNew: true,
    })
    expect(await listBlocks(deps, { limit: 10 })).toEqual({
      blocks: [
        {
          entry: 'spam.example',
          kind: 'domain',
          note: 'spam report 17',
          createdAt: NOON,
          expiresAt: new Date(NOON.getTime() + HOUR),
          number: 1,
        },
      ],
      total: 1,
      next: undefined,
    })
    time = new Date(NOON.getTime() + HOUR)
    expect(await listBlocks(deps, { limit: 10 })).toEqual({ blocks: [], total: 0, next: undefined })
  })

  test('is added once, and removed once', async () => {
    expect((await addBlock(deps, '192.0.2.7/24')).isNew).toBe(true)
    expect((await addBlock(deps, '192.0.2.0/24')).isNew).toBe(false)
    expect(await removeBlock(deps, '192.0.2.255/24')).toBe(true)
    expect(await removeBlock(deps, '192.0.2.0/24')).toBe(false)
  })

  test('that is invalid, too wide or too long is refused', async () => {
    for (const [text, options, message, code = 'invalid_parameter'] of [
      ['no entry', {}, 'is not a domain'],
      ['10.0.0.0/7', {}, 'wider than /8', 'entry_wide'],
      ['a.test', { ttl: '0s' }, 'ten years'],
      ['a.test', { ttl: '3651d' }, 'ten years'],
      ['a.test', { ttl: 'soon' }, 'ten years'],
    ] as const) {
      await expect(addBlock(deps, text, options)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      })
    }
    await addBlock(deps, '10.0.0.0/7', { force: true })
    expect(await removeBlock(deps, '10.0.0.0/7')).toBe(true)
  })
})

describe('a list', () => {
  test('has one entry per line; comments, duplicates and empty lines are ignored', () => {
    const text = '# bad\r\nA.test\r\n\r\na.test # again\n  192.0.2.7 ; SBL1\n; end\nx#y@b.test\n'
    expect(parseBlockLines(text)).toEqual({
      entries: ['a.test', '192.0.2.7', 'x#y@b.test'],
      invalid: [],
    })
  })

  test('names every invalid line', () => {
    expect(parseBlockLines('a.test\nno entry\n1.2.3.4/5\n').invalid).toEqual([
      expect.stringMatching(/^Line 2: "no entry" is not a domain/),
      expect.stringMatching(/^Line 3: 0\.0\.0\.0\/5 is wider/),
    ])
  })

  test('is imported in batches; pages list all of it', async () => {
    const names = Array.from({ length: 1_201 }, (_, one) => `n${one}.test`)
    const { entries } = parseBlockLines(names.join('\n'))
    await addBlock(deps, 'n7.test')
    const reports: number[] = []
    const options = { note: 'list', report: (done: number) => void reports.push(done) }
    expect(await importBlocks(deps, entries, options)).toBe(1_200)
    expect(reports).toEqual([500, 1_000, 1_201])
    const listed: string[] = []
    for (let before: number | undefined; ; ) {
      const page = await listBlocks(deps, { limit: 500, before })
      listed.push(...page.blocks.map(({ entry }) => entry))
      before = page.next
      if (before === undefined) break
    }
    expect(listed.toSorted()).toEqual(names.toSorted())
    expect((await listBlocks(deps, { limit: 5, text: 'N1200' })).blocks).toHaveLength(1)
  })
})
