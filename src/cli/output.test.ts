import { describe, expect, test } from 'vitest'
import { utcDayText } from '../keys/rules.ts'
import { plot } from '../keys/usage-command.ts'
import { bar, formatMail, listTable, noPaint, printJson, table, wrapList } from './output.ts'

test('columns are aligned without trailing spaces', () => {
  expect(
    table([
      ['A', 'LONGER', 'C'],
      ['wide', 'x', ''],
      ['a', '', 'z'],
    ]),
  ).toEqual(['A     LONGER  C', 'wide  x', 'a             z'])
})

test('a cell may have several lines', () => {
  expect(
    table([
      ['a', 'one\ntwo', 'b'],
      ['c', 'x', 'd'],
    ]),
  ).toEqual(['a  one  b', '   two', 'c  x    d'])
})

test('the last column is wrapped at spaces to fit 100 columns; longer words stay whole', () => {
  const lines = table([
    ['NAME', 'TEXT'],
    ['x'.repeat(30), 'some words '.repeat(20).trim()],
    ['y', 'z'.repeat(90)],
  ])
  expect(lines.filter((line) => line.length > 100)).toEqual([`y${' '.repeat(31)}${'z'.repeat(90)}`])
  expect(lines.slice(1, -1).every((line) => line.slice(32).startsWith('some words'))).toBe(true)
})

test('a list fits 100 columns: its widest columns are cut off, texts of the last one are wrapped', () => {
  const lines = listTable(
    ['ID', 'ADDRESS', 'REASON'],
    [
      ['1', 'a'.repeat(120), 'some words'],
      ['22', 'b@box.test', `https://box.test/${'c'.repeat(120)}`],
    ],
  )
  const half = 'a'.repeat(46)
  expect(lines).toEqual([
    `ID  ADDRESS${' '.repeat(42)}REASON`,
    `1   ${half}…  some words`,
    `22  b@box.test${' '.repeat(39)}https://box.test/${'c'.repeat(29)}…`,
  ])
  expect(listTable(['ID', 'REASON'], [['1', 'words '.repeat(40).trim()]])).toHaveLength(4)
})

// ESC, DEL, CSI as one character, and a mark that reverses text.
const HOSTILE = 'a\u001b[2Jb\u007fc\u009b31md\u202ee'
const ESCAPED = 'a\\u001b[2Jb\\u007fc\\u009b31md\\u202ee'

test('JSON is printed without control characters, and still means the same', () => {
  const value = { [HOSTILE]: [HOSTILE, 'line\nbreak'] }
  const printed: string[] = []
  printJson(value, (line) => printed.push(line))
  const text = printed.join('\n')
  expect(text).toContain(ESCAPED)
  expect(text).not.toMatch(/[^\n -~]/)
  expect(JSON.parse(text)).toEqual(value)
})

test('cells are printed without control characters', () => {
  expect(table([[HOSTILE, 'one\ntwo']])).toEqual([`${ESCAPED}  one`, `${' '.repeat(37)}two`])
  expect(listTable(['ID'], [[HOSTILE]])).toEqual(['ID', ESCAPED])
})

test('a mail shows its code, the links to follow and its attachments, in colours if painted', () => {
  const mail = {
    receivedAt: '2026-03-01 12:00:00',
    senderName: '',
    senderEmail: 'a@sender.test',
    subject: 'Hi',
    text: 'Body',
    codes: [{ value: '482913' }, { value: '1111' }],
    links: [
      { kind: 'verify', url: 'https://sender.test/v\u202e' },
      { kind: 'other', url: 'https://sender.test/other' },
      { kind: 'toString', url: 'https://sender.test/odd' },
    ],
    attachments: [
      { filename: 'a.pdf', size: 2_048, inline: false },
      { filename: 'logo.png', size: 1, inline: true },
    ],
  }
  expect(formatMail(mail, noPaint).slice(2)).toEqual([
    'From:    a@sender.test',
    'Subject: Hi',
    'Code:    482913',
    'Confirm: https://sender.test/v\\u202e',
    'File:    a.pdf (2 kB)',
    '',
    'Body',
  ])
  const painted = formatMail(mail, (style, text) => `<${style}>${text}`)
  expect(painted).toContain('Code:    <green>482913')
})

for (const [text, width, wrapped] of [
  ['', 10, ''],
  ['one', 10, 'one'],
  ['one,two', 10, 'one,two'],
  ['one,two,three', 8, 'one,two,\nthree'],
  ['too-long,b', 5, 'too-l\nong,b'],
] as const) {
  test(`${text || 'an empty string'} in ${width} columns`, () =>
    expect(wrapList(text, width)).toBe(wrapped))
}

const first = Date.UTC(2026, 1, 1) / 86_400_000
const daysOf = (counts: readonly number[]) =>
  counts.map((count, at) => ({ day: first + at, count }))

test('the largest day reaches the top, and a single request is visible', () => {
  expect(plot(daysOf([0, 1, 300, 600, 1_200]))).toEqual([
    '1,200 ┤        █',
    '      │        █',
    '      │        █',
    '      │      █ █',
    '      │    ▄ █ █',
    '      │  ▁ █ █ █',
    '    0 ┼─────────',
    `       2026-02-012026-02-05`,
  ])
})

test('thirty days fit in 80 columns, with the first and last date below', () => {
  const lines = plot(daysOf(Array.from({ length: 30 }, (_, at) => at * 4_000)))
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(80)
  expect(lines.at(-1)).toMatch(/^ {9}2026-02-01 +2026-03-02$/)
  expect(lines[0]).toMatch(/^116,000 ┤ +▁ ▃ ▅ ▆ █$/)
})

test('without requests a message is printed', () => {
  expect(plot(daysOf(Array(30).fill(0)))).toEqual(['No requests in the last 30 days.'])
})

describe('a bar', () => {
  for (const [name, used, all, expected] of [
    ['is empty at 0', 0, 1_000, '░░░░░░░░░░'],
    ['shows the first request', 1, 100_000, '█░░░░░░░░░'],
    ['is half full at 50 %', 500, 1_000, '█████░░░░░'],
    ['is not full before the last request', 999, 1_000, '█████████░'],
    ['is full at 100 %', 1_000, 1_000, '██████████'],
    ['is full beyond 100 %', 2_000, 1_000, '██████████'],
    ['is full if the total is 0', 0, 0, '██████████'],
  ] as const) {
    test(name, () => expect(bar(used, all, 10)).toBe(expected))
  }
})

test('utcDayText formats days since 1970', () => {
  expect(utcDayText(0)).toBe('1970-01-01')
  expect(utcDayText(first)).toBe('2026-02-01')
})
