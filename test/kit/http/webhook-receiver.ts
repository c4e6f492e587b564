import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface ReceivedDelivery {
  id: string
  headers: Record<string, string>
  body: string
  event: { type: string; timestamp: string; data: Record<string, unknown> }
}

/** A status, or how to misbehave. */
export type Behaviour =
  | number
  | 'hang'
  | 'reset'
  | 'garbage'
  | 'redirect'
  | 'endless'
  | 'slow'
  | 'upgrade'
  | 'continue'

/** The receiver of a webhook on loopback. It answers as told, by default with 200. */
export async function openReceiver() {
  const received: ReceivedDelivery[] = []
  const state = { behaviour: 200 as Behaviour, headers: {} as Record<string, string> }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const headers = request.headers as Record<string, string>
    const id = headers['webhook-id'] ?? ''
    received.push({ id, headers, body, event: body === '' ? {} : JSON.parse(body) })
    answer(state, request, response)
  })
  let port = 0
  async function open(): Promise<void> {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }
  async function close(): Promise<void> {
    server.closeAllConnections()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  await open()
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    state,
    /** The subjects of the messages received, in order. */
    subjects: () => received.map(({ event }) => event.data['subject']),
    /** Listens again, on the same port. */
    open,
    close,
  }
}

const UPGRADE = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'

function answer(
  { behaviour, headers }: { behaviour: Behaviour; headers: Record<string, string> },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (typeof behaviour === 'number') response.writeHead(behaviour, headers).end('thanks')
  else if (behaviour === 'reset') request.socket.resetAndDestroy()
  else if (behaviour === 'garbage') request.socket.end('220 hello\r\n')
  else if (behaviour === 'upgrade') request.socket.write(UPGRADE)
  else if (behaviour === 'continue') response.writeContinue()
  else if (behaviour === 'redirect') response.writeHead(302, { location: request.url }).end()
  else if (behaviour === 'slow') setTimeout(() => response.end('late'), 300)
  else if (behaviour === 'endless') {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'.repeat(10_000)), 5)
    response.on('close', () => clearInterval(timer))
    response.on('error', () => {})
  }
}
