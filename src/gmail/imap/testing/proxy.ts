import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Cut {
  /** Which client line, counted over all connections from now on. */
  line: number
  /** before: the server never receives it. after: it does, but its response is lost. */
  when: 'before' | 'after'
}

interface Traffic {
  /** Commands of the client so far, without arguments. */
  lines: string[]
  /** The same, complete. */
  commands: string[]
  /** All connections so far, and those open now. */
  connections: number
  open: number
  cut: Cut | undefined
  /** The proxy itself responds NO to this command. */
  refuse: string | undefined
  /** Rewrites server output; a chunk may contain several lines. */
  rewrite(chunk: string): string
}

export type Proxy = Awaited<ReturnType<typeof openProxy>>

/** A TCP proxy that records client commands and can cut connections. */
export async function openProxy(target: number) {
  const state: Traffic = {
    lines: [],
    commands: [],
    connections: 0,
    open: 0,
    cut: undefined,
    refuse: undefined,
    rewrite: (chunk) => chunk,
  }
  const sockets = new Set<Socket>()
  const waiting: (() => void)[] = []
  const change = () => {
    for (const wake of waiting.splice(0)) wake()
  }

  const listener = createServer((client) => {
    state.connections += 1
    state.open += 1
    sockets.add(client)
    client.on('close', () => {
      sockets.delete(client)
      state.open -= 1
      change()
    })
    pipe(client, connect(target, '127.0.0.1'), { state, change })
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')

  return {
    port: (listener.address() as AddressInfo).port,
    state,
    cutAt({ line, when }: Cut) {
      state.cut = { line: state.lines.length + line, when }
    },
    /** Closes every connection now. */
    drop() {
      for (const socket of sockets) socket.destroy()
    },
    /** Checked again after every command and disconnect. */
    async until(condition: (traffic: Traffic) => boolean): Promise<void> {
      while (!condition(state)) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

function pipe(
  client: Socket,
  server: Socket,
  { state, change }: { state: Traffic; change(): void },
): void {
  const end = () => {
    client.destroy()
    server.destroy()
  }
  for (const socket of [client, server]) socket.on('error', end).on('close', end)
  server.on('data', (chunk) => client.write(state.rewrite(chunk.toString('latin1')), 'latin1'))
  // Line by line, so that each can be the last one. The client sends only whole lines.
  client.on('data', (chunk) => {
    for (const line of chunk.toString('latin1').split(/(?<=\n)/)) if (!pass(line)) return
  })

  function pass(line: string): boolean {
    state.lines.push(line.trim().split(' ').slice(1, 3).join(' '))
    state.commands.push(line.trim())
    change()
    const { cut } = state
    if (state.refuse && state.lines.at(-1) === state.refuse) {
      client.write(`${line.split(' ')[0]} NO [CANNOT] not now\r\n`)
      return true
    }
    if (!cut || state.lines.length < cut.line) {
      server.write(line, 'latin1')
      return true
    }
    state.cut = undefined
    if (cut.when === 'before') end()
    else {
      server.removeAllListeners('data').once('data', end)
      server.write(line, 'latin1')
    }
    return false
  }
}
