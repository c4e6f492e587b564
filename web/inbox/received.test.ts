import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { receivedText } from './received.ts'

const NOW = new Date(2026, 2, 10, 15, 30)
const before = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)

describe('a message that came', () => {
  for (const [name, at, language, text] of [
    ['just now', before(0.5), 'en', 'now'],
    ['in the future, by a clock that is wrong', before(-5), 'en', 'now'],
    ['minutes ago', before(5), 'en', '5 min. ago'],
    ['nearly an hour ago', before(59.9), 'en', '59 min. ago'],
    ['hours ago', before(3 * 60 + 59), 'en', '3 hr. ago'],
    ['yesterday', new Date(2026, 2, 9, 23, 0), 'en', 'Mar 9'],
    ['minutes ago, in German', before(10), 'de', 'vor 10 Min.'],
    ['last year', new Date(2025, 11, 31, 12, 0), 'en', 'Dec 31, 2025'],
    ['minutes ago, in Spanish', before(5), 'es', 'hace 5 min'],
  ] as const) {
    test(name, () => assert.equal(receivedText(at, NOW, language), text))
  }

  test('minutes before midnight is told in minutes, not as another day', () => {
    const midnight = new Date(2026, 2, 10, 0, 5)
    assert.equal(receivedText(new Date(2026, 2, 9, 23, 55), midnight, 'en'), '10 min. ago')
  })
})
