import { describe, expect, test } from 'vitest'
import { readDate } from './date.ts'

describe('a date', () => {
  for (const [line, expected] of [
    ['Tue, 3 Mar 2026 10:14:21 +0100', '2026-03-03T09:14:21.000Z'],
    ['3 Mar 2026 10:14 -0000', '2026-03-03T10:14:00.000Z'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Fri, 21 Nov 97 09:55:06 EST', '1997-11-21T14:55:06.000Z'],
    ['Thu, 13 Feb 1969 23:32 -0330 (Newfoundland Time)', '1969-02-14T03:02:00.000Z'],
    ['Fri, 31 Dec 9999 23:59:59 +0000', '9999-12-31T23:59:59.000Z'],
    ['Fri, 31 Dec 9999 23:59:59 -0100', null],
    ['Sat, 1 Jan 0000 00:00:00 +0000', null],
    ['Sat, 13 Sep 275760 00:00:00 +0000', null],
    ['Tue, 31 Foo 2026 10:00:00 +0000', null],
    ['Tue, 3 Mar 2026 99:99:99 +0000', null],
    ['2026-03-03T10:14:21Z', '2026-03-03T10:14:21.000Z'],
    ['Whenever', null],
    ['5', null],
    ['', null],
  ] as const) {
    test(`${JSON.stringify(line)} is ${expected}`, () => expect(readDate(line)).toBe(expected))
  }
})
