import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'

/** Turns the connection into a TLS one. A failed handshake ends it. */
export function secureSocket(
  plain: Socket,
  secureContext: SecureContext,
  { done, failed }: { done(tls: string): void; failed(code: string | undefined): void },
): Socket {
  const socket = new TLSSocket(plain, { isServer: true, secureContext, requestCert: false })
  socket.once('secure', () => {
    done(`${socket.getProtocol() ?? 'TLS'} ${socket.getCipher().name}`)
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    socket.destroy()
    failed(error.code)
  })
  return socket
}
