import { MessageChannel, MessagePort, Worker } from 'node:worker_threads'
import type { ReceiveLimits } from '../core/recipient.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'
import { type Call, openCaller } from './ports.ts'

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

  const call = openCaller(worker)
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

interface MailWriterOptions {
  folder: string
  maxBytes: number | 'auto'
  limits: ReceiveLimits
  versions: SharedArrayBuffer
  died(fault: Error): void
}

/** Starts the mail writer with as many ways in as there are callers. */
export async function startMailWriter(
  callers: number,
  { died, ...setup }: MailWriterOptions,
): Promise<Writer> {
  openMigrated(setup.folder, 'mail').close()
  return startWriter('./mail-writer.ts', callers, { name: 'mail-writer', setup, died })
}

export async function startShopWriter(
  callers: number,
  { folder, died }: { folder: string; died(fault: Error): void },
): Promise<Writer> {
  openMigrated(folder, 'shop').close()
  return startWriter('./shop-writer.ts', callers, { name: 'shop-writer', setup: { folder }, died })
}

export interface Writer {
  thread: Thread
  /** One for each caller. */
  ports: MessagePort[]
}

async function startWriter(
  file: string,
  callers: number,
  { name, setup, died }: { name: string; setup: object; died(fault: Error): void },
): Promise<Writer> {
  const channels = Array.from({ length: callers }, () => new MessageChannel())
  const theirs = channels.map((channel) => channel.port1)
  const thread = await startThread(file, { ...setup, ports: theirs }, { name, died })
  return { thread, ports: channels.map((channel) => channel.port2) }
}
