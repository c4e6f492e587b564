import { expect, test } from 'vitest'
import { Problem } from '../../base/problem.ts'
import { cursorOf, parseCursor } from './emails.ts'

test('a cursor decodes to its id and is URL-safe', () => {
  for (const id of [1, 1_836_000_000_000_000, Number.MAX_SAFE_INTEGER]) {
    expect(cursorOf(id)).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(parseCursor(cursorOf(id))).toBe(id)
  }
})

for (const [name, cursor] of [
  ['a plain id', '1836000000000000'],
  ['invalid base64url', '*'],
  ['padding', `${cursorOf(12)}=`],
  ['a space', `${cursorOf(12)} `],
  ['a line break inside', `${cursorOf(12).slice(0, 3)}\n${cursorOf(12).slice(3)}`],
  ['zero', Buffer.from('after 0').toString('base64url')],
  ['leading zeros', Buffer.from('after 01').toString('base64url')],
  ['a negative id', Buffer.from('after -1').toString('base64url')],
  ['an id above the maximum', Buffer.from('after 9007199254740992').toString('base64url')],
  ['another direction', Buffer.from('before 12').toString('base64url')],
] as const) {
  test(`${name} is refused`, () => {
    expect(() => parseCursor(cursor)).toThrow(
      expect.toSatisfy((error) => error instanceof Problem && error.message.startsWith('cursor: ')),
    )
  })
}
