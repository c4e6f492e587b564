import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export type TcpProxy = Awaited<ReturnType<typeof openTcpProxy>>

/** In front of a server on this port. Its connections can be cut, and what they carry delayed. */
export async function openTcpProxy(port: number, { to = '127.0.0.1', listen = '127.0.0.1' } = {}) {
  const sockets = new Set<Socket>()
  let [delayMs, delayed] = [0, 0]
  /** A delay of zero, as usual, costs one turn of the event loop. */
  async function forward(from: Socket, into: Socket): Promise<void> {
    for await (const chunk of from) {
      if (delayMs > 0) {
        delayed += 1
        await pause(delayMs)
      }
      if (!into.write(chunk)) await once(into, 'drain')
    }
    into.end()
  }
  const server = createServer((client) => {
    const upstream = connect(port, to)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true).on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        for (const one of [client, upstream]) one.destroy()
      })
    }
    forward(client, upstream).catch(() => {})
    forward(upstream, client).catch(() => {})
  })
  server.listen(0, listen)
  await once(server, 'listening')
  const { port: own } = server.address() as AddressInfo
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    host: listen,
    port: own,
    url: `http://${listen}:${own}`,
    cut,
    /** Delays each piece of data, in both directions; returns how to stop that, and how many were delayed. */
    delay(ms: number): () => number {
      const before = delayed
      delayMs = ms
      return () => {
        delayMs = 0
        return delayed - before
      }
    },
    close(): void {
      cut()
      server.close()
    },
  }
}
