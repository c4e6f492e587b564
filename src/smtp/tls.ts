import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import type { Log } from '../base/log/log.ts'
import { gauge } from '../base/metrics.ts'
import { toError } from '../base/problem.ts'
import type { TlsContexts } from '../tls/contexts.ts'

export interface CertificateFiles {
  cert: string
  key: string
}

let readExpiry: (() => number | undefined) | undefined
gauge(
  'mayfly_smtp_certificate_expiry_timestamp_seconds',
  'When the certificate for STARTTLS expires, in Unix time',
  () => readExpiry?.(),
  'min',
)

/** Reloads the files whenever they have changed. Throws only on the first load. */
export function reloadingSecureContext(files: CertificateFiles, log: Log): () => SecureContext {
  let seen = fingerprints(files)
  let { context, expiresAt } = loadContext(files)
  const current = () => {
    const marks = fingerprints(files)
    if (marks === seen) return context
    seen = marks
    try {
      ;({ context, expiresAt } = loadContext(files))
      log.info({ cert: files.cert }, 'certificate reloaded')
    } catch (err) {
      // Half-written, or the key is not replaced yet: the old pair is used until both match.
      log.error({ err: toError(err), cert: files.cert }, 'cannot load the new certificate')
    }
    return context
  }
  readExpiry = () => {
    current()
    return expiresAt
  }
  return current
}

/** Certificates by host name, which another part obtains. */
export function obtainedContext(
  contexts: Pick<TlsContexts, 'contextFor' | 'expiresAt'>,
): ContextFor {
  readExpiry = () => {
    const expiresAt = contexts.expiresAt()
    return expiresAt === undefined ? undefined : expiresAt / 1000
  }
  return contexts.contextFor
}

function loadContext({ cert: file, key }: CertificateFiles) {
  const cert = readFileSync(file)
  const context = createSecureContext({ cert, key: readFileSync(key) })
  return { context, expiresAt: Date.parse(new X509Certificate(cert).validTo) / 1000 }
}

/** Changes whenever a file is written or replaced. */
function fingerprints({ cert, key }: CertificateFiles): string {
  return `${fingerprint(cert)} ${fingerprint(key)}`
}

// Never throws: it runs within a client's session. The error message is part of the fingerprint, so that an unreadable
// file is logged once and not for each client.
function fingerprint(file: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(file, { bigint: true })
    return `${ino} ${size} ${mtimeNs}`
  } catch (err) {
    return toError(err).message
  }
}

/** The certificate for a host name of SNI; without one, that of the server. */
export type ContextFor = (servername?: string) => SecureContext

/** A failed handshake destroys the socket. */
export function upgradeToTls(
  plain: Socket,
  contextFor: ContextFor,
  { done, failed }: { done(tls: string): void; failed(code: string | undefined): void },
): Socket {
  const socket = new TLSSocket(plain, {
    isServer: true,
    secureContext: contextFor(),
    SNICallback: (name, done) => done(null, contextFor(name.toLowerCase())),
    requestCert: false,
  })
  socket.once('secure', () => {
    done(`${socket.getProtocol() ?? 'TLS'} ${socket.getCipher().name}`)
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    socket.destroy()
    failed(error.code)
  })
  return socket
}
