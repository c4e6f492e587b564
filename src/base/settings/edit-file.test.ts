import { expect, test } from 'vitest'
import { OperatorError } from '../problem.ts'
import { editSettings } from './edit-file.ts'

const edit = (path: string, text: string, wanted: Record<string, string>) =>
  editSettings(path, text, wanted).edited

const ENV =
  '# Settings\nMAYFLY_DOMAINS=box.example.org\n#MAYFLY_BASE_URL=https://x.example\nMAYFLY_ADMIN_TOKEN=secret'

for (const [name, path, before, wanted, after] of [
  [
    'a value is replaced in its place',
    'mayfly.env',
    ENV,
    { MAYFLY_DOMAINS: 'a.test,b.test' },
    ENV.replace('box.example.org', 'a.test,b.test'),
  ],
  [
    'a setting that is commented out is added below the comment',
    'mayfly.env',
    ENV,
    { MAYFLY_BASE_URL: 'https://a.test' },
    ENV.replace(/^#MAYFLY_BASE_URL=.*$/m, '$&\nMAYFLY_BASE_URL=https://a.test'),
  ],
  [
    'a new setting is added at the end',
    'mayfly.env',
    ENV,
    { MAYFLY_SMTP_PORT: '25' },
    `${ENV}\nMAYFLY_SMTP_PORT=25\n`,
  ],
  ['of two lines the last counts', 'mayfly.env', 'A=1\nA=2\n', { A: '3' }, 'A=1\nA=3\n'],
  ['a dollar sign stays one', 'mayfly.env', 'A=1\n', { A: '$&$1' }, 'A=$&$1\n'],
  ['what is there already is not written', 'mayfly.env', 'A="x y"\n', { A: 'x y' }, 'A="x y"\n'],
  ['a comment behind a value is kept', 'mayfly.env', "A='1' # one\n", { A: '3' }, 'A=3 # one\n'],
  ['so is "export"', 'mayfly.env', 'export A = 1\n', { A: '3' }, 'export A = 3\n'],
  ['so are line ends', 'mayfly.env', 'A=1\r\nB=2\r\n', { A: '3', C: '4' }, 'A=3\r\nB=2\r\nC=4\r\n'],
  ['an empty value is filled in', 'mayfly.env', 'A=\nB=\n', { A: '3' }, 'A=3\nB=\n'],
  ['a value that needs quotes has them', 'mayfly.env', '', { A: '/x y/#1' }, 'A="/x y/#1"\n'],
  [
    'a JSON list stays one',
    'a.json',
    '{\n\t"A": ["1"]\n}',
    { A: '1,2' },
    '{\n\t"A": [\n\t\t"1",\n\t\t"2"\n\t]\n}\n',
  ],
  ['a JSON file is created', 'mayfly.config.json', '', { A: '1' }, '{\n  "A": "1"\n}\n'],
  [
    'other values of a JSON file are kept',
    'mayfly.config.json',
    '{"B": [1], "A": 2}',
    { A: '3' },
    '{\n  "B": [\n    1\n  ],\n  "A": "3"\n}\n',
  ],
] as const) {
  test(name, () => expect(edit(path, before, wanted)).toBe(after))
}

for (const [name, text, wanted] of [
  ['a line that is part of another value', 'B="\nA=1\n"\n', { A: '3' }],
  ['a value that the file cannot hold', 'A=1\n', { A: '#"' }],
  ['a line break', 'A=1\n', { A: '1\nB=2' }],
] as const) {
  test(`${name} is not written`, () => {
    expect(() => edit('mayfly.env', text, wanted)).toThrow(OperatorError)
  })
}

test('changes name the former value', () => {
  const wanted = { MAYFLY_DOMAINS: 'a.test', MAYFLY_SMTP_PORT: '25', MAYFLY_ADMIN_TOKEN: 'secret' }
  expect(editSettings('mayfly.env', ENV, wanted).changes).toEqual([
    { name: 'MAYFLY_DOMAINS', value: 'a.test', before: 'box.example.org' },
    { name: 'MAYFLY_SMTP_PORT', value: '25', before: undefined },
  ])
})
