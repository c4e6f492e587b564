import { join } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { readMetrics } from '../base/metrics.ts'
import type { ReceiveLimits } from '../mail/rules/recipient.ts'
import { MAIL_FILE, openWritable } from '../store/sqlite/files.ts'
import { openMailWriter } from '../store/sqlite/mail-store.ts'
import { openVersions } from '../store/sqlite/mailbox-cache.ts'
import { releaseMemoryWhenIdle } from './idle-memory.ts'
import { serve } from './ports.ts'
import { serveWrites } from './serve-writes.ts'

// A thread that owns the only writable connection to mail.db.

export interface MailWriterSetup {
  folder: string
  maxBytes: number | 'auto'
  limits: ReceiveLimits
  ledgerKey: Uint8Array
  versions: SharedArrayBuffer
}

if (parentPort) {
  const {
    folder,
    maxBytes,
    versions,
    ports,
    ...options
  }: MailWriterSetup & { ports: MessagePort[] } = workerData
  const db = openWritable(join(folder, MAIL_FILE), maxBytes)
  const writer = serveWrites(db, openMailWriter(db, openVersions(versions), options), ports)
  releaseMemoryWhenIdle()
  serve(parentPort, {
    ready: () => true,
    metrics: readMetrics,
    close() {
      writer.close()
      parentPort?.unref()
    },
  })
}
