import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { freeLarge } from '../base/free-large.ts'
import { openCheckpoints } from '../store/sqlite/checkpoints.ts'
import type { Db } from '../store/sqlite/files.ts'
import type { WriteOutcome, WriteRequest } from '../store/sqlite/group-commit.ts'
import { buffersIn, type PortRequest, type PortResponse, portResponse } from './ports.ts'

// Limits how long the first request of a group waits for the last.
const MAX_GROUP_SIZE = 512

/** Serves the only writable connection: all pending requests on all ports become one group, one commit, one fsync. */
export function serveWrites(
  db: Db,
  commitGroup: (group: WriteRequest[]) => WriteOutcome[],
  ports: readonly MessagePort[],
) {
  const checkpoints = openCheckpoints(db)
  for (const port of ports) {
    // When idle, a request is a group of its own and does not wait.
    port.on('message', (requests: PortRequest[]) => {
      const group = [...requests.map((request) => ({ port, request })), ...collect(ports)]
      respondAll(group, commitGroup(group.map((entry) => entry.request)))
      // They were transferred to this thread, and nobody needs them any more.
      const buffers = group.flatMap(({ request }) => buffersIn(request.value))
      for (const buffer of buffers) freeLarge(new Uint8Array(buffer))
      checkpoints.shorten()
    })
  }
  return {
    close(): void {
      checkpoints.stop()
      for (const port of ports) port.close()
      db.close()
    },
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
