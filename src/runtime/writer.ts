import { join } from 'node:path'
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { readMetrics } from '../base/metrics.ts'
import type { ReceiveLimits } from '../mail/rules/recipient.ts'
import { emptyLogRegularly, MAIL_FILE, openWritable, SHOP_FILE } from '../store/sqlite/files.ts'
import type { WriteOutcome, WriteRequest } from '../store/sqlite/group-commit.ts'
import { openMailWriter } from '../store/sqlite/mail-store.ts'
import { openVersions } from '../store/sqlite/mailbox-cache.ts'
import { openShopWriter } from '../store/sqlite/shop-store.ts'
import { releaseMemoryWhenIdle } from './idle-memory.ts'
import { type PortRequest, type PortResponse, portResponse, serve } from './ports.ts'

// A thread that owns the only writable connection to mail.db or to shop.db. Tests open a writer in their own thread.

export type WriterSetup = { folder: string } & WriterKind

export type WriterKind =
  | {
      kind: 'mail'
      maxBytes: number | 'auto'
      limits: ReceiveLimits
      ledgerKey: Uint8Array
      versions: SharedArrayBuffer
    }
  | { kind: 'shop' }

function openMail({ folder, maxBytes, versions, ...options }: WriterSetup & { kind: 'mail' }) {
  const db = openWritable(join(folder, MAIL_FILE), maxBytes)
  return { db, commit: openMailWriter(db, openVersions(versions), options) }
}

function openShop({ folder }: WriterSetup) {
  const db = openWritable(join(folder, SHOP_FILE))
  return { db, commit: openShopWriter(db) }
}

// Limits how long the first request of a group waits for the last.
const MAX_GROUP_SIZE = 512

/** Serves a writer's ports: all pending requests on all ports become one group, one commit, one fsync. */
function serveGroups(
  ports: readonly MessagePort[],
  commitGroup: (group: WriteRequest[]) => WriteOutcome[],
): void {
  for (const port of ports) {
    // When idle, a request is a group of its own and does not wait.
    port.on('message', (requests: PortRequest[]) => {
      const group = [...requests.map((request) => ({ port, request })), ...collect(ports)]
      respondAll(group, commitGroup(group.map((entry) => entry.request)))
    })
  }
}

interface GroupEntry {
  port: MessagePort
  request: PortRequest
}

function collect(ports: readonly MessagePort[]): GroupEntry[] {
  const entries: GroupEntry[] = []
  for (const port of ports) {
    while (entries.length < MAX_GROUP_SIZE) {
      const received = receiveMessageOnPort(port)
      if (!received) break
      for (const request of received.message as PortRequest[]) entries.push({ port, request })
    }
  }
  return entries
}

function respondAll(group: readonly GroupEntry[], outcomes: readonly WriteOutcome[]): void {
  const responses = new Map<MessagePort, PortResponse[]>()
  for (const [index, { port, request }] of group.entries()) {
    const outcome = outcomes[index] ?? { error: new Error('no result for this request') }
    const list = responses.get(port) ?? []
    responses.set(port, list)
    list.push(portResponse(request.seq, outcome))
  }
  for (const [port, list] of responses) port.postMessage(list)
}

/** Opens the database and serves these ports. */
export function openWriter(setup: WriterSetup & { ports: readonly MessagePort[] }) {
  const { db, commit } = setup.kind === 'mail' ? openMail(setup) : openShop(setup)
  serveGroups(setup.ports, commit)
  const stopEmptying = emptyLogRegularly(db)
  return {
    close(): void {
      stopEmptying()
      for (const port of setup.ports) port.close()
      db.close()
    },
  }
}

if (parentPort) {
  const writer = openWriter(workerData)
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
