import { getHeapStatistics } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { Problem } from '../../base/problem.ts'
import { serve } from '../ports.ts'

// A thread for tests that fails on request.

if (parentPort) {
  serve(parentPort, {
    ready: () => 42,
    refuse: () => {
      throw new Problem('overloaded', 'not now', 7)
    },
    fail: () => {
      throw new Error('a fault of ours')
    },
    heapLimit: () => getHeapStatistics().heap_size_limit,
    measure: (bytes: Uint8Array) => bytes.length,
    reverse: async (bytes: Uint8Array) => bytes.toReversed(),
    die: () => {
      setImmediate(() => {
        throw new Error('the thread is lost')
      })
    },
    close() {
      parentPort?.unref()
      return 'closed'
    },
  })
}
