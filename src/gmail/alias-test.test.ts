import { expect, test } from 'vitest'
import { address } from '../../test/kit/gmail/gmail.ts'
import { aliasHeaders } from './alias-test.ts'

const headers = (alias: string, ...lines: string[]) =>
  aliasHeaders(Buffer.from(`${lines.join('\r\n')}\r\n\r\nTo: ${alias}\r\n`), address(alias))

for (const [name, lines, expected] of [
  ['a bare address', ['Delivered-To: joe+a@gmail.com'], ['Delivered-To']],
  ['one in angle brackets', ['To: Joe <joe+a@gmail.com>, b@x.test'], ['To']],
  ['a `for` of a folded line', ['Received: by x\r\n\tfor <joe+a@gmail.com>; date'], ['Received']],
  ['capital letters', ['CC: JOE+A@Gmail.com'], ['Cc']],
  [
    'the second of two fields',
    ['Delivered-To: joe@gmail.com', 'Delivered-To: joe+a@gmail.com'],
    ['Delivered-To'],
  ],
  ['a longer tag', ['To: joe+ab@gmail.com', 'Cc: <x.joe+a@gmail.com>'], []],
  ['a longer host', ['To: joe+a@gmail.com.test'], []],
  ['other dots', ['To: j.oe+a@gmail.com'], []],
  ['another field, or the body', ['Subject: joe+a@gmail.com'], []],
] as const) {
  test(`${name}: ${expected.join() || 'none'}`, () => {
    expect(headers('joe+a@gmail.com', ...lines)).toStrictEqual(expected)
  })
}
