import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import type { Log } from '../core/log.ts'

/** Turns the connection into a TLS one. A failed handshake ends it. */
export function secureSocket(
  plain: Socket,
  secureContext: SecureContext,
  { ip, log, done }: { ip: string; log: Log; done: (tls: string) => void },
): Socket {
  const socket = new TLSSocket(plain, { isServer: true, secureContext, requestCert: false })
  socket.once('secure', () => {
    done(`${socket.getProtocol() ?? 'TLS'} ${socket.getCipher().name}`)
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    log.info({ ip, code: error.code }, 'TLS connection failed')
    socket.destroy()
  })
  return socket
}
