import { parentPort, workerData } from 'node:worker_threads'
import { openIntakeParts, serveMain, type ThreadSetup } from './setup.ts'
import { threadJobs } from './thread-jobs.ts'

const setup: ThreadSetup = workerData
const { config, name } = setup
const parts = await openIntakeParts(setup)
const job = threadJobs[name]
if (!job) throw new Error(`no such job: ${name}`)
const { stop } = await job.start({ ...parts, config })

serveMain({
  ready: () => true,
  // Another node takes over meanwhile.
  drain: () => void stop(),
  async close() {
    await stop()
    await parts.close()
    parentPort?.unref()
  },
})
