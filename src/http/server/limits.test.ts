import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { Problem } from '../../base/problem.ts'
import { openLongPollLimit, openSendBudget } from './limits.ts'

const isOverloaded = (error: unknown) => error instanceof Problem && error.code === 'overloaded'

/** A request whose client stays connected. */
const from = (client?: string) => ({ client, throwIfClosed: () => {}, onClose: () => {} })

test('the number of waits per mailbox is limited, until one is released', () => {
  const limit = openLongPollLimit({ all: 10, client: 10, mailbox: 2 })
  const releaseSlot = limit.acquire(1, from())
  limit.acquire(1, from())
  expect(() => limit.acquire(1, from())).toThrow(expect.toSatisfy(isOverloaded))
  limit.acquire(2, from())
  releaseSlot()
  limit.acquire(1, from())
})

test('the number of waits per client is limited over all mailboxes, except for exempt clients', () => {
  const limit = openLongPollLimit({ all: 10, client: 2, mailbox: 10 })
  limit.acquire(1, from('192.0.2.1'))
  limit.acquire(2, from('192.0.2.1'))
  expect(() => limit.acquire(3, from('192.0.2.1'))).toThrow(expect.toSatisfy(isOverloaded))
  limit.acquire(3, from('192.0.2.2'))
  limit.acquire(3, from())
})

test('the total number of waits is limited', () => {
  const limit = openLongPollLimit({ all: 2, client: 10, mailbox: 10 })
  const releaseSlot = limit.acquire(1, from('a'))
  limit.acquire(2, from('b'))
  expect(() => limit.acquire(3, from('c'))).toThrow(expect.toSatisfy(isOverloaded))
  releaseSlot()
  limit.acquire(3, from('c'))
})

test('releasing twice frees one slot', () => {
  const limit = openLongPollLimit({ all: 2, client: 10, mailbox: 10 })
  const releaseSlot = limit.acquire(1, from())
  limit.acquire(2, from())
  releaseSlot()
  releaseSlot()
  limit.acquire(3, from())
  expect(() => limit.acquire(4, from())).toThrow(expect.toSatisfy(isOverloaded))
})

test('closing a response frees its slot once, and a closed response acquires none', () => {
  const limit = openLongPollLimit({ all: 1, client: 1, mailbox: 1 })
  let close = () => {}
  const onClose = (release: () => void) => {
    close = release
  }
  const releaseSlot = limit.acquire(1, { ...from('a'), onClose })
  expect(() => limit.acquire(1, from('a'))).toThrow(expect.toSatisfy(isOverloaded))
  close()
  releaseSlot()
  const throwIfClosed = () => {
    throw new Error('gone')
  }
  expect(() => limit.acquire(1, { ...from('a'), throwIfClosed })).toThrow(/gone/)
  limit.acquire(1, from('a'))
})

const response = () => new EventEmitter() as ServerResponse
const MB = 1024 * 1024

test('large bodies share a budget, and release it when the response closes', () => {
  const budget = openSendBudget(12 * MB)
  const first = response()
  budget.reserve(6 * MB, first, 'ann')
  budget.reserve(3 * MB, response(), 'bob')
  expect(() => budget.reserve(4 * MB, response(), 'eve')).toThrow(/downloads/)
  first.emit('close')
  budget.reserve(4 * MB, response(), 'eve')
})

test('a client has at most a quarter of the budget, and others are unaffected', () => {
  const budget = openSendBudget(12 * MB)
  const first = response()
  budget.reserve(2 * MB, first, 'ann')
  budget.reserve(MB, response(), 'ann')
  expect(() => budget.reserve(MB, response(), 'ann')).toThrow(/downloads/)
  budget.reserve(3 * MB, response(), 'bob')
  first.emit('close')
  budget.reserve(2 * MB, response(), 'ann')
})

test('a single body is accepted, however large', () => {
  const budget = openSendBudget(12 * MB)
  budget.reserve(11 * MB, response(), 'ann')
  budget.reserve(MB, response(), 'bob')
})

test('small bodies are always accepted', () => {
  const budget = openSendBudget(1)
  budget.reserve(2 * MB, response(), 'ann')
  budget.reserve(5, response(), 'ann')
  budget.reserve(0, response(), 'ann')
})

test('a response that is already closed reserves nothing', () => {
  const budget = openSendBudget(12 * MB)
  const closedResponse = Object.assign(response(), { destroyed: true })
  budget.reserve(12 * MB, closedResponse, 'ann')
  budget.reserve(2 * MB, response(), 'ann')
})

test('of several reservations of one response the largest counts, once', () => {
  const budget = openSendBudget(12 * MB)
  const first = response()
  // An estimate, the actual size, and something smaller.
  for (const bytes of [MB, 3 * MB, 2 * MB]) budget.reserve(bytes, first, 'ann')
  expect(() => budget.reserve(MB, response(), 'ann')).toThrow(/downloads/)
  first.emit('close')
  budget.reserve(3 * MB, response(), 'ann')
  budget.reserve(9 * MB, response(), 'bob')
})

test('a single response may grow, however large', () => {
  const budget = openSendBudget(MB)
  const only = response()
  budget.reserve(2 * MB, only, 'ann')
  budget.reserve(3 * MB, only, 'ann')
})
