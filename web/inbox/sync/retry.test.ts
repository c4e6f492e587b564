import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { afterFailure, INITIAL, retryDelaySeconds, upgrade } from './retry.ts'

test('each transport is tried twice, then the next simpler one; polling goes on', () => {
  const transports: string[] = []
  let state = INITIAL
  for (let failure = 0; failure < 6; failure += 1) {
    transports.push(state.transport)
    state = afterFailure(state)
  }
  assert.deepEqual(transports, ['stream', 'stream', 'long-poll', 'long-poll', 'poll', 'poll'])
})

test('after an upgrade a single failure of the stream falls back', () => {
  const upgraded = upgrade({ transport: 'poll', failures: 0 })
  assert.equal(upgraded.transport, 'stream')
  assert.equal(afterFailure(upgraded).transport, 'long-poll')
})

describe('the retry delay', () => {
  for (const [name, failures, random, retryAfter, seconds] of [
    ['is at least half a second after the first failure', 1, 0, 0, 0.5],
    ['is at most a second after the first failure', 1, 1, 0, 1],
    ['doubles with the second', 2, 1, 0, 2],
    ['is at most half a minute', 40, 1, 0, 30],
    ['has jitter', 40, 0, 0, 15],
    ['is not shorter than Retry-After', 1, 0, 90, 90],
    ['has jitter on top of Retry-After', 1, 1, 100, 110],
  ] as const) {
    test(name, () => {
      assert.ok(Math.abs(retryDelaySeconds(failures, random, retryAfter) - seconds) < 1e-9)
    })
  }
})
