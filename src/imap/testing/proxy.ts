import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Cut {
  /** Which of the client's lines, counted over all connections from now on. */
  line: number
  /** before: the server never hears it. after: it does, and its answer does not arrive. */
  when: 'before' | 'after'
}

interface Traffic {
  /** What the client has said so far, by command. */
  lines: string[]
  /** The same, whole. */
  commands: string[]
  /** How many connections there were, and how many there are. */
  connections: number
  open: number
  cut: Cut | undefined
  /** A command that is answered NO in the server's place. */
  refuse: string | undefined
  /** Rewrites what the server says; a chunk may hold several lines. */
  rewrite(chunk: string): string
}

export type Proxy = Awaited<ReturnType<typeof openProxy>>

/** Stands between a client and a server on this machine, counts what the client says, and cuts them apart when asked to. */
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
    join(client, connect(target, '127.0.0.1'), { state, change })
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')

  return {
    port: (listener.address() as AddressInfo).port,
    state,
    cutAt({ line, when }: Cut) {
      state.cut = { line: state.lines.length + line, when }
    },
    /** Ends every connection now. */
    drop() {
      for (const socket of sockets) socket.destroy()
    },
    /** Resolves when it is true; asked again whenever somebody says something or leaves. */
    async until(holds: (traffic: Traffic) => boolean): Promise<void> {
      while (!holds(state)) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

function join(
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
  // One line at a time, so that each can be the last. The client sends nothing that is no line.
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
