import { expect, test } from 'vitest'
import { editSettings, settingChanges } from './edit-file.ts'

const edit = (path: string, text: string, wanted: Record<string, string>) =>
  editSettings(path, text, settingChanges(path, text, wanted))

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
    'a commented setting is filled in',
    'mayfly.env',
    ENV,
    { MAYFLY_BASE_URL: 'https://a.test' },
    ENV.replace('#MAYFLY_BASE_URL=https://x.example', 'MAYFLY_BASE_URL=https://a.test'),
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

test('changes name the former value', () => {
  const wanted = { MAYFLY_DOMAINS: 'a.test', MAYFLY_SMTP_PORT: '25', MAYFLY_ADMIN_TOKEN: 'secret' }
  expect(settingChanges('mayfly.env', ENV, wanted)).toEqual([
    { name: 'MAYFLY_DOMAINS', value: 'a.test', before: 'box.example.org' },
    { name: 'MAYFLY_SMTP_PORT', value: '25', before: undefined },
  ])
})
