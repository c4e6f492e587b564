import { expect, test } from 'vitest'
import { openProgress } from './progress.ts'

const all = { rows: 10_000, bytes: 50_000_000 }

function fixture(isTTY: boolean, columns = 200) {
  const written: string[] = []
  let now = 0
  const terminal = { isTTY, columns, write: (text: string) => written.push(text) }
  const { tell, end } = openProgress(terminal, () => now)
  return {
    written,
    end,
    at(ms: number, rows: number, doing = 'copying') {
      now = ms
      tell({ doing, rows, bytes: rows * 5_000, all })
    },
  }
}

test('without a terminal: a line every few seconds, and one at the end', () => {
  const { at, written, end } = fixture(false)
  at(0, 0)
  at(2_999, 2_000)
  at(4_000, 4_000)
  at(4_100, 4_100)
  at(5_000, 10_000)
  end()
  expect(written).toEqual([
    'Copying 0 of 10,000 rows · 0 of 50 MB\n',
    'Copying 4,000 of 10,000 rows · 20 of 50 MB · 1,000 rows/s · 5 MB/s · 6 s left\n',
    'Copying 10,000 of 10,000 rows · 50 of 50 MB · 2,000 rows/s · 10 MB/s\n',
  ])
})

test('on a terminal: a bar, redrawn in place and cleared at the end', () => {
  const { at, written, end } = fixture(true)
  at(0, 0)
  at(50, 1_000)
  at(2_000, 5_000)
  end()
  expect(written).toEqual([
    `\r\x1b[K${'░'.repeat(24)} Copying 0 of 10,000 rows · 0 of 50 MB`,
    `\r\x1b[K${'█'.repeat(12)}${'░'.repeat(12)} Copying 5,000 of 10,000 rows · 25 of 50 MB · 2,500 rows/s · 12.5 MB/s · 2 s left`,
    '\r\x1b[K',
  ])
})

test('a bar is never wider than the terminal', () => {
  const { at, written } = fixture(true, 40)
  at(0, 0)
  expect(written).toEqual([`\r\x1b[K${'░'.repeat(24)} Copying 0 of 1`])
})

test('work done before the start does not count as speed', () => {
  const { at, written } = fixture(false)
  at(0, 8_000)
  at(10_000, 9_000)
  expect(written.at(-1)).toContain('· 100 rows/s · 0.5 MB/s · 10 s left')
})

test('each stage has its own clock', () => {
  const { at, written } = fixture(false)
  at(0, 0)
  at(10_000, 10_000)
  at(10_100, 0, 'comparing')
  at(14_100, 4_000, 'comparing')
  expect(written.slice(2)).toEqual([
    'Comparing 0 of 10,000 rows · 0 of 50 MB\n',
    expect.stringContaining('1,000 rows/s'),
  ])
})
