import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { WriteOutcome, WriteRequest } from '../store/sqlite/group-commit.ts'
import { type Answer, type Ask, answerOf } from './ports.ts'

// Bounds how long the first of a group waits for the last.
const MOST_IN_A_GROUP = 512

/** Serves a writer's ports: everything that waits on any of them becomes one group, one commit, one fsync. */
export function serveGroups(
  ports: readonly MessagePort[],
  commitGroup: (group: readonly WriteRequest[]) => WriteOutcome[],
): void {
  for (const port of ports) {
    // When idle the first one is the whole group: it waits for nobody.
    port.on('message', (asks: Ask[]) => {
      const group = [...asks.map((ask) => ({ port, ask })), ...collect(ports)]
      answerAll(group, commitGroup(group.map((entry) => entry.ask)))
    })
  }
}

interface Entry {
  port: MessagePort
  ask: Ask
}

function collect(ports: readonly MessagePort[]): Entry[] {
  const entries: Entry[] = []
  for (const port of ports) {
    while (entries.length < MOST_IN_A_GROUP) {
      const received = receiveMessageOnPort(port)
      if (!received) break
      for (const ask of received.message as Ask[]) entries.push({ port, ask })
    }
  }
  return entries
}

function answerAll(group: readonly Entry[], outcomes: readonly WriteOutcome[]): void {
  const answers = new Map<MessagePort, Answer[]>()
  for (const [index, { port, ask }] of group.entries()) {
    const outcome = outcomes[index] ?? { error: new Error('the group has no outcome for this') }
    const list = answers.get(port) ?? []
    answers.set(port, list)
    list.push(answerOf(ask.seq, outcome))
  }
  for (const [port, list] of answers) port.postMessage(list)
}
