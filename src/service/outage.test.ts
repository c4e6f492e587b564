import assert from 'node:assert/strict'
import { test } from 'vitest'
import { outageTeller } from './outage.ts'

test('the log hears of an outage once, and of the next one again', () => {
  let now = 0
  const lines: string[] = []
  const tell = outageTeller({ warn: (_facts, sentence) => lines.push(sentence) }, () => now)
  for (let met = 0; met < 100; met += 1) {
    tell()
    now += 20_000
  }
  assert.equal(lines.length, 1)
  now += 60_000
  tell()
  assert.equal(lines.length, 2)
})
