import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Problem } from '../../core/problem.ts'
import { openLongPollLimit } from './long-poll-limit.ts'

const overloaded = (error: unknown) => error instanceof Problem && error.code === 'overloaded'

/** A request whose client stays. */
const from = (client?: string) => ({ client, throwIfClosed: () => {}, onClose: () => {} })

test('a mailbox holds so many waits and no more, until one leaves', () => {
  const waiting = openLongPollLimit({ all: 10, client: 10, mailbox: 2 })
  const leave = waiting.enter(1, from())
  waiting.enter(1, from())
  assert.throws(() => waiting.enter(1, from()), overloaded)
  waiting.enter(2, from())
  leave()
  waiting.enter(1, from())
})

test('an address holds so many over all mailboxes; one that nobody counts does not', () => {
  const waiting = openLongPollLimit({ all: 10, client: 2, mailbox: 10 })
  waiting.enter(1, from('192.0.2.1'))
  waiting.enter(2, from('192.0.2.1'))
  assert.throws(() => waiting.enter(3, from('192.0.2.1')), overloaded)
  waiting.enter(3, from('192.0.2.2'))
  waiting.enter(3, from())
})

test('all together hold so many', () => {
  const waiting = openLongPollLimit({ all: 2, client: 10, mailbox: 10 })
  const leave = waiting.enter(1, from('a'))
  waiting.enter(2, from('b'))
  assert.throws(() => waiting.enter(3, from('c')), overloaded)
  leave()
  waiting.enter(3, from('c'))
})

test('leaving twice gives back once', () => {
  const waiting = openLongPollLimit({ all: 2, client: 10, mailbox: 10 })
  const leave = waiting.enter(1, from())
  waiting.enter(2, from())
  leave()
  leave()
  waiting.enter(3, from())
  assert.throws(() => waiting.enter(4, from()), overloaded)
})

test('a response that is closed gives back, once, and one that was closed before takes nothing', () => {
  const waiting = openLongPollLimit({ all: 1, client: 1, mailbox: 1 })
  let close = () => {}
  const onClose = (release: () => void) => {
    close = release
  }
  const leave = waiting.enter(1, { ...from('a'), onClose })
  assert.throws(() => waiting.enter(1, from('a')), overloaded)
  close()
  leave()
  const throwIfClosed = () => {
    throw new Error('gone')
  }
  assert.throws(() => waiting.enter(1, { ...from('a'), throwIfClosed }), /gone/)
  waiting.enter(1, from('a'))
})
