import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Receives webhooks on loopback, without TLS, and answers at once. */
export async function openReceiver(received: (subject: string) => void) {
  const server = createServer(async (request, response) => {
    // The sender may stop meanwhile, and repeats it then.
    const body = await text(request).catch(() => undefined)
    if (body === undefined) return
    response.end()
    received((JSON.parse(body) as { data: { subject: string } }).data.subject)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
