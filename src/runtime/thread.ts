import { setImmediate } from 'node:timers/promises'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { MessageChannel, MessagePort, Worker } from 'node:worker_threads'
import { openMigrated } from '../store/sqlite/migrate.ts'
import type { MailWriterSetup } from './mail-writer.ts'
import { type Call, openCaller } from './ports.ts'

export interface Thread {
  call: Call
  /**
   * Asks it to close and waits for its exit: a thread with an open database is never terminated. Resolves with what its `close`
   * command returned.
   */
  close(): Promise<unknown>
}

export interface StartedThread extends Thread {
  /** What its `ready` command returned. */
  ready: unknown
}

const MB = 2 ** 20

/**
 * Without limits V8 reserves up to 96 MB for young objects in each thread, and on a large machine lets the others grow to four
 * times of what is in use before it collects garbage. The growth follows from the limit: here less than twice.
 */
const MAX_YOUNG_MB = 12
const MAX_OLD_MB = Math.floor(getHeapStatistics().heap_size_limit / MB)

interface ThreadOptions {
  name: string
  /** Called if it exits unexpectedly. */
  died(fault: Error): void
  /** For old objects. */
  maxOldMb?: number
  /** For young objects. */
  maxYoungMb?: number
}

/** Starts a thread and waits until it is ready. */
export async function startThread(
  file: string,
  setup: object,
  { name, died, maxOldMb = MAX_OLD_MB, maxYoungMb = MAX_YOUNG_MB }: ThreadOptions,
): Promise<StartedThread> {
  // The value that bin/mayfly.js sets is for the main thread; with it, V8 would ignore the limit below. That of an operator stays.
  if (!process.env['NODE_OPTIONS']?.includes('--max-semi-space-size'))
    setFlagsFromString('--max-semi-space-size=0')
  const worker = new Worker(new URL(file, import.meta.url), {
    name,
    workerData: setup,
    resourceLimits: {
      maxYoungGenerationSizeMb: maxYoungMb,
      maxOldGenerationSizeMb: Math.min(maxOldMb, MAX_OLD_MB),
    },
    transferList: portsIn(setup),
    // A descriptor that is closed takes the locks of the whole process on its file with it (openCheckpoints).
    trackUnmanagedFds: false,
  })
  const gone = Promise.withResolvers<void>()
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  let fault: Error | undefined
  let started = false
  let closing = false

  worker.on('error', (cause) => {
    fault = new Error(`the ${name} thread failed: ${cause}`, { cause })
    failed.reject(cause)
  })
  worker.on('exit', () => {
    gone.resolve()
    failed.reject(new Error(`the ${name} thread exited`))
    if (started && !closing) died(fault ?? new Error(`the ${name} thread exited unexpectedly`))
  })

  const call = openCaller(worker)
  const ready = await Promise.race([call('ready'), failed.promise])
  started = true
  return {
    ready,
    call,
    async close() {
      closing = true
      const closed = call('close')
      await Promise.race([closed, gone.promise])
      await gone.promise
      if (fault) throw fault
      // Its response and its exit may come in the same turn of the event loop.
      return await Promise.race([closed, setImmediate()])
    },
  }
}

/** Ports must be transferred. */
function portsIn(setup: object): MessagePort[] {
  return Object.values(setup)
    .flat()
    .filter((part) => part instanceof MessagePort)
}

/** Migrates mail.db, then starts its writer, with one port per caller. */
export async function startMailWriter(
  callers: number,
  setup: MailWriterSetup,
  options: Omit<ThreadOptions, 'name'>,
) {
  openMigrated(setup.folder, 'mail').close()
  const { served, ports } = openPorts(callers)
  const thread = await startThread(
    './mail-writer.ts',
    { ...setup, ports: served },
    { ...options, name: 'mail-writer' },
  )
  return { thread, ports }
}

/** Both ends of one channel per caller. */
export function openPorts(callers: number) {
  const channels = Array.from({ length: callers }, () => new MessageChannel())
  return {
    served: channels.map((channel) => channel.port1),
    ports: channels.map((channel) => channel.port2),
  }
}
