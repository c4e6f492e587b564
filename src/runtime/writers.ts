import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { ReceiveLimits } from '../core/recipient.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'
import { startThread, type Thread } from './thread.ts'

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
