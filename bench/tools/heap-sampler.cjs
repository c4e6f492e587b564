'use strict'
// Preloaded into every thread of the service (NODE_OPTIONS=--require): writes the size of its V8 heap to MAYFLY_BENCH_HEAPS
// every five seconds. With the file `snapshot` in that folder, each thread writes a heap snapshot, once.
const { existsSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { isMainThread, threadId, threadName } = require('node:worker_threads')
const { getHeapStatistics, writeHeapSnapshot } = require('node:v8')

const folder = process.env.MAYFLY_BENCH_HEAPS
// The child processes may not write files.
if (folder && (!process.permission || process.permission.has('fs.write'))) {
  const name = isMainThread ? 'main' : `${threadName || 'thread'} ${threadId}`
  let isTaken = false
  setInterval(() => {
    const {
      used_heap_size: used,
      total_heap_size: total,
      external_memory: external,
    } = getHeapStatistics()
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ used, total, external }))
    if (isTaken || !existsSync(join(folder, 'snapshot'))) return
    isTaken = true
    writeHeapSnapshot(join(folder, `${name}.heapsnapshot`))
  }, 5_000).unref()
}
