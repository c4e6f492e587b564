import { join } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { ReceiveLimits } from '../core/recipient.ts'
import { MAIL_FILE, openWritable } from '../store/sqlite/files.ts'
import { groupCommit } from '../store/sqlite/group-commit.ts'
import { allMailWrites } from '../store/sqlite/mail-store.ts'
import { openVersions } from '../store/sqlite/versions.ts'
import { serve } from './ports.ts'
import { serveGroups } from './serve-groups.ts'

// Owns the only writable connection to mail.db.

interface MailWriterSetup {
  folder: string
  maxBytes: number | 'auto'
  limits: ReceiveLimits
  versions: SharedArrayBuffer
  ports: MessagePort[]
}

const setup: MailWriterSetup = workerData
const db = openWritable(join(setup.folder, MAIL_FILE), setup.maxBytes)
const writes = allMailWrites(db, setup.limits, Math.random)
serveGroups(setup.ports, groupCommit(db, writes, openVersions(setup.versions).add))

if (parentPort) {
  serve(parentPort, {
    ready: () => true,
    close() {
      for (const port of setup.ports) port.close()
      db.close()
      parentPort?.unref()
    },
  })
}
