import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Host } from '../base/address.ts'
import { openRefusedCounts } from './refused-counts.ts'

const A = 'a.test' as Host
const B = 'b.test' as Host

let stored: [Host, number][]
let fault: Error | undefined
let logged: number
let during: (name: Host) => void
beforeEach(() => {
  vi.useFakeTimers()
  stored = []
  fault = undefined
  logged = 0
  during = () => {}
})
afterEach(() => {
  vi.useRealTimers()
})

function open() {
  return openRefusedCounts({
    store: {
      async countOwnRefused(name, count) {
        if (fault) throw fault
        stored.push([name, count])
        during(name)
      },
    },
    log: {
      error() {
        logged += 1
      },
    },
  })
}

test('refused mails of a second are one write for each domain', async () => {
  const counts = open()
  for (const name of [A, B, A, A]) counts.count(name)
  expect(stored).toEqual([])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(stored).toEqual([
    [A, 3],
    [B, 1],
  ])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(stored).toHaveLength(2)
  counts.count(A)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(stored.at(-1)).toEqual([A, 1])
  await counts.close()
})

test('closing writes what is left', async () => {
  const counts = open()
  counts.count(A)
  await counts.close()
  expect(stored).toEqual([[A, 1]])
  expect(vi.getTimerCount()).toBe(0)
})

test('what cannot be stored is added to the next write', async () => {
  const counts = open()
  fault = new Error('disk')
  counts.count(A)
  await vi.advanceTimersByTimeAsync(1_000)
  expect([stored, logged]).toEqual([[], 1])
  counts.count(A)
  fault = undefined
  await vi.advanceTimersByTimeAsync(1_000)
  expect(stored).toEqual([[A, 2]])
  await counts.close()
})

test('what is counted during a write waits for the next one', async () => {
  const counts = open()
  for (const name of [A, B]) counts.count(name)
  during = (name) => {
    if (name === B) counts.count(A)
  }
  await vi.advanceTimersByTimeAsync(1_000)
  expect(stored).toEqual([
    [A, 1],
    [B, 1],
  ])
  during = () => {}
  await vi.advanceTimersByTimeAsync(1_000)
  expect(stored.at(-1)).toEqual([A, 1])
  await counts.close()
})
