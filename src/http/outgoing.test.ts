import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'vitest'
import { outgoingBudget } from './outgoing.ts'

const response = () => new EventEmitter() as ServerResponse
const MB = 1024 * 1024

test('large bodies share a budget, and give it back when their client has gone', () => {
  const outgoing = outgoingBudget(10 * MB)
  const first = response()
  outgoing.admit(Buffer.alloc(6 * MB), first)
  assert.throws(() => outgoing.admit('x'.repeat(5 * MB), response()), /downloads/)
  first.emit('close')
  outgoing.admit('x'.repeat(5 * MB), response())
})

test('small bodies always pass', () => {
  const outgoing = outgoingBudget(1)
  outgoing.admit(Buffer.alloc(2 * MB), response())
  outgoing.admit('small', response())
  outgoing.admit(undefined, response())
})
