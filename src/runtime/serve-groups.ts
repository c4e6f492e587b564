import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { WriteOutcome, WriteRequest } from '../store/sqlite/group-commit.ts'
import { type PortRequest, type PortResponse, portResponse } from './ports.ts'

// Bounds how long the first of a group waits for the last.
const MAX_GROUP_SIZE = 512

/** Serves a writer's ports: everything that waits on any of them becomes one group, one commit, one fsync. */
export function serveGroups(
  ports: readonly MessagePort[],
  commitGroup: (group: readonly WriteRequest[]) => WriteOutcome[],
): void {
  for (const port of ports) {
    // When idle the first one is the whole group: it waits for nobody.
    port.on('message', (asks: PortRequest[]) => {
      const group = [...asks.map((ask) => ({ port, ask })), ...collect(ports)]
      respondAll(group, commitGroup(group.map((entry) => entry.ask)))
    })
  }
}

interface GroupEntry {
  port: MessagePort
  ask: PortRequest
}

function collect(ports: readonly MessagePort[]): GroupEntry[] {
  const entries: GroupEntry[] = []
  for (const port of ports) {
    while (entries.length < MAX_GROUP_SIZE) {
      const received = receiveMessageOnPort(port)
      if (!received) break
      for (const ask of received.message as PortRequest[]) entries.push({ port, ask })
    }
  }
  return entries
}

function respondAll(group: readonly GroupEntry[], outcomes: readonly WriteOutcome[]): void {
  const answers = new Map<MessagePort, PortResponse[]>()
  for (const [index, { port, ask }] of group.entries()) {
    const outcome = outcomes[index] ?? { error: new Error('the group has no outcome for this') }
    const list = answers.get(port) ?? []
    answers.set(port, list)
    list.push(portResponse(ask.seq, outcome))
  }
  for (const [port, list] of answers) port.postMessage(list)
}
