import { MessagePort, Worker } from 'node:worker_threads'
import { type Call, caller } from './ports.ts'

export interface Thread {
  call: Call
  /** Asks it to close and waits until it is gone: a thread with a database open is never terminated. */
  close(): Promise<void>
}

/** Starts a thread and waits until it answers. `died` is called when it ends without having been asked. */
export async function startThread(
  file: string,
  setup: object,
  { name, died }: { name: string; died(fault: Error): void },
): Promise<Thread & { ready: unknown }> {
  const worker = new Worker(new URL(file, import.meta.url), {
    name,
    workerData: setup,
    transferList: portsIn(setup),
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
    failed.reject(new Error(`the ${name} thread ended`))
    if (started && !closing) died(fault ?? new Error(`the ${name} thread ended by itself`))
  })

  const call = caller(worker)
  const ready = await Promise.race([call('ready'), failed.promise])
  started = true
  return {
    ready,
    call,
    async close() {
      closing = true
      await Promise.race([call('close'), gone.promise])
      await gone.promise
      if (fault) throw fault
    },
  }
}

/** They are handed over, not copied. */
function portsIn(setup: object): MessagePort[] {
  return Object.values(setup)
    .flat()
    .filter((part) => part instanceof MessagePort)
}
