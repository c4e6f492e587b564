import { readFileSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import type { Log } from '../core/log.ts'
import { asError } from '../core/problem.ts'

export interface CertificateFiles {
  cert: string
  key: string
}

/** Reads the files now, and again whenever they have changed. Throws only at the first reading. */
export function secureContextOf(files: CertificateFiles, log: Log): () => SecureContext {
  let seen = marksOf(files)
  let context = load(files)
  return () => {
    const marks = marksOf(files)
    if (marks === seen) return context
    seen = marks
    try {
      context = load(files)
      log.info({ cert: files.cert }, 'certificate read again')
    } catch (err) {
      // Half-written, or the key not yet replaced: the old pair serves until both are there.
      log.error({ err: asError(err), cert: files.cert }, 'new certificate unusable, old one kept')
    }
    return context
  }
}

function load({ cert, key }: CertificateFiles): SecureContext {
  return createSecureContext({ cert: readFileSync(cert), key: readFileSync(key) })
}

/** What changes whenever a file is written or replaced. */
function marksOf({ cert, key }: CertificateFiles): string {
  return `${markOf(cert)} ${markOf(key)}`
}

// Never throws: this is asked in the middle of a client's conversation. What stands in the way is a mark like any other,
// so that it is told of once and not to each client.
function markOf(file: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(file, { bigint: true })
    return `${ino} ${size} ${mtimeNs}`
  } catch (err) {
    return asError(err).message
  }
}

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
