import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'vitest'
import { Problem } from '../../core/problem.ts'
import { openLongPollLimit, openSendBudget } from './limits.ts'

const overloaded = (error: unknown) => error instanceof Problem && error.code === 'overloaded'

/** A request whose client stays. */
const from = (client?: string) => ({ client, throwIfClosed: () => {}, onClose: () => {} })

test('a mailbox holds so many waits and no more, until one leaves', () => {
  const waiting = openLongPollLimit({ all: 10, client: 10, mailbox: 2 })
  const leave = waiting.acquire(1, from())
  waiting.acquire(1, from())
  assert.throws(() => waiting.acquire(1, from()), overloaded)
  waiting.acquire(2, from())
  leave()
  waiting.acquire(1, from())
})

test('an address holds so many over all mailboxes; one that nobody counts does not', () => {
  const waiting = openLongPollLimit({ all: 10, client: 2, mailbox: 10 })
  waiting.acquire(1, from('192.0.2.1'))
  waiting.acquire(2, from('192.0.2.1'))
  assert.throws(() => waiting.acquire(3, from('192.0.2.1')), overloaded)
  waiting.acquire(3, from('192.0.2.2'))
  waiting.acquire(3, from())
})

test('all together hold so many', () => {
  const waiting = openLongPollLimit({ all: 2, client: 10, mailbox: 10 })
  const leave = waiting.acquire(1, from('a'))
  waiting.acquire(2, from('b'))
  assert.throws(() => waiting.acquire(3, from('c')), overloaded)
  leave()
  waiting.acquire(3, from('c'))
})

test('leaving twice gives back once', () => {
  const waiting = openLongPollLimit({ all: 2, client: 10, mailbox: 10 })
  const leave = waiting.acquire(1, from())
  waiting.acquire(2, from())
  leave()
  leave()
  waiting.acquire(3, from())
  assert.throws(() => waiting.acquire(4, from()), overloaded)
})

test('a response that is closed gives back, once, and one that was closed before takes nothing', () => {
  const waiting = openLongPollLimit({ all: 1, client: 1, mailbox: 1 })
  let close = () => {}
  const onClose = (release: () => void) => {
    close = release
  }
  const leave = waiting.acquire(1, { ...from('a'), onClose })
  assert.throws(() => waiting.acquire(1, from('a')), overloaded)
  close()
  leave()
  const throwIfClosed = () => {
    throw new Error('gone')
  }
  assert.throws(() => waiting.acquire(1, { ...from('a'), throwIfClosed }), /gone/)
  waiting.acquire(1, from('a'))
})

const response = () => new EventEmitter() as ServerResponse
const MB = 1024 * 1024

test('large bodies share a budget, and give it back when their client has gone', () => {
  const outgoing = openSendBudget(12 * MB)
  const first = response()
  outgoing.reserve(Buffer.alloc(6 * MB), first, 'ann')
  outgoing.reserve(Buffer.alloc(3 * MB), response(), 'bob')
  assert.throws(() => outgoing.reserve('x'.repeat(4 * MB), response(), 'eve'), /downloads/)
  first.emit('close')
  outgoing.reserve('x'.repeat(4 * MB), response(), 'eve')
})

test('one client has at most a quarter of it, and others do not notice', () => {
  const outgoing = openSendBudget(12 * MB)
  const first = response()
  outgoing.reserve(Buffer.alloc(2 * MB), first, 'ann')
  outgoing.reserve(Buffer.alloc(MB), response(), 'ann')
  assert.throws(() => outgoing.reserve(Buffer.alloc(MB), response(), 'ann'), /downloads/)
  outgoing.reserve(Buffer.alloc(3 * MB), response(), 'bob')
  first.emit('close')
  outgoing.reserve(Buffer.alloc(2 * MB), response(), 'ann')
})

test('one alone passes, however large', () => {
  const outgoing = openSendBudget(12 * MB)
  outgoing.reserve(Buffer.alloc(11 * MB), response(), 'ann')
  outgoing.reserve(Buffer.alloc(MB), response(), 'bob')
})

test('small bodies always pass', () => {
  const outgoing = openSendBudget(1)
  outgoing.reserve(Buffer.alloc(2 * MB), response(), 'ann')
  outgoing.reserve('small', response(), 'ann')
  outgoing.reserve(undefined, response(), 'ann')
})

test('who has gone before the answer was made holds nothing', () => {
  const outgoing = openSendBudget(12 * MB)
  const gone = Object.assign(response(), { destroyed: true })
  outgoing.reserve(Buffer.alloc(12 * MB), gone, 'ann')
  outgoing.reserve(Buffer.alloc(2 * MB), response(), 'ann')
})
