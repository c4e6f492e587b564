import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'vitest'
import { openSendBudget } from './send-budget.ts'

const response = () => new EventEmitter() as ServerResponse
const MB = 1024 * 1024

test('large bodies share a budget, and give it back when their client has gone', () => {
  const outgoing = openSendBudget(12 * MB)
  const first = response()
  outgoing.admit(Buffer.alloc(6 * MB), first, 'ann')
  outgoing.admit(Buffer.alloc(3 * MB), response(), 'bob')
  assert.throws(() => outgoing.admit('x'.repeat(4 * MB), response(), 'eve'), /downloads/)
  first.emit('close')
  outgoing.admit('x'.repeat(4 * MB), response(), 'eve')
})

test('one client has at most a quarter of it, and others do not notice', () => {
  const outgoing = openSendBudget(12 * MB)
  const first = response()
  outgoing.admit(Buffer.alloc(2 * MB), first, 'ann')
  outgoing.admit(Buffer.alloc(MB), response(), 'ann')
  assert.throws(() => outgoing.admit(Buffer.alloc(MB), response(), 'ann'), /downloads/)
  outgoing.admit(Buffer.alloc(3 * MB), response(), 'bob')
  first.emit('close')
  outgoing.admit(Buffer.alloc(2 * MB), response(), 'ann')
})

test('one alone passes, however large', () => {
  const outgoing = openSendBudget(12 * MB)
  outgoing.admit(Buffer.alloc(11 * MB), response(), 'ann')
  outgoing.admit(Buffer.alloc(MB), response(), 'bob')
})

test('small bodies always pass', () => {
  const outgoing = openSendBudget(1)
  outgoing.admit(Buffer.alloc(2 * MB), response(), 'ann')
  outgoing.admit('small', response(), 'ann')
  outgoing.admit(undefined, response(), 'ann')
})

test('who has gone before the answer was made holds nothing', () => {
  const outgoing = openSendBudget(12 * MB)
  const gone = Object.assign(response(), { destroyed: true })
  outgoing.admit(Buffer.alloc(12 * MB), gone, 'ann')
  outgoing.admit(Buffer.alloc(2 * MB), response(), 'ann')
})
