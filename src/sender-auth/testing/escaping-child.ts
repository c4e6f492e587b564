import { createSocket } from 'node:dgram'
import { lookup, resolve } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { CheckResponse } from '../job.ts'

// A child that tries to escape the sandbox, and returns the results as the list of authors.
process.on('message', async () => {
  const authors = [
    `tcp ${await reach(tcp)}`,
    `udp ${await reach(udp)}`,
    `http ${await reach(() => fetch('http://127.0.0.1:8089/'))}`,
    `dns ${await reach(() => resolve('here.test', 'TXT'))}`,
    `names ${await reach(() => lookup('here.test'))}`,
    `the rest of the source ${await reach(async () => readFileSync(new URL('../../runtime/config.ts', import.meta.url)))}`,
  ]
  process.send?.({
    kind: 'dkim',
    result: 'none',
    domains: [],
    authors,
    fromFields: 1,
  } satisfies CheckResponse)
})
process.send?.({ kind: 'ready' })

async function reach(attempt: () => Promise<unknown>): Promise<string> {
  try {
    await attempt()
    return 'reached'
  } catch (fault) {
    const cause = fault instanceof Error && fault.cause instanceof Error ? fault.cause : fault
    return cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
  }
}

function tcp(): Promise<void> {
  return new Promise((done, fail) => {
    connect(9, '127.0.0.1').once('connect', done).once('error', fail)
  })
}

function udp(): Promise<void> {
  return new Promise((done, fail) => {
    const socket = createSocket('udp4').once('error', fail)
    socket.send('x', 9, '127.0.0.1', (fault) => (fault ? fail(fault) : done()))
  })
}
