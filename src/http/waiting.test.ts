import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Problem } from '../core/problem.ts'
import { countWaiting } from './waiting.ts'

const overloaded = (error: unknown) => error instanceof Problem && error.code === 'overloaded'

test('a mailbox holds so many waits and no more, until one leaves', () => {
  const waiting = countWaiting({ all: 10, client: 10, mailbox: 2 })
  const leave = waiting.enter(1, undefined)
  waiting.enter(1, undefined)
  assert.throws(() => waiting.enter(1, undefined), overloaded)
  waiting.enter(2, undefined)
  leave()
  waiting.enter(1, undefined)
})

test('an address holds so many over all mailboxes; one that nobody counts does not', () => {
  const waiting = countWaiting({ all: 10, client: 2, mailbox: 10 })
  waiting.enter(1, '192.0.2.1')
  waiting.enter(2, '192.0.2.1')
  assert.throws(() => waiting.enter(3, '192.0.2.1'), overloaded)
  waiting.enter(3, '192.0.2.2')
  waiting.enter(3, undefined)
})

test('all together hold so many', () => {
  const waiting = countWaiting({ all: 2, client: 10, mailbox: 10 })
  const leave = waiting.enter(1, 'a')
  waiting.enter(2, 'b')
  assert.throws(() => waiting.enter(3, 'c'), overloaded)
  leave()
  waiting.enter(3, 'c')
})

test('leaving twice gives back once', () => {
  const waiting = countWaiting({ all: 2, client: 10, mailbox: 10 })
  const leave = waiting.enter(1, undefined)
  waiting.enter(2, undefined)
  leave()
  leave()
  waiting.enter(3, undefined)
  assert.throws(() => waiting.enter(4, undefined), overloaded)
})
