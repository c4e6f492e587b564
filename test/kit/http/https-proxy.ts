import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSecureContext, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { selfSigned } from '../../../src/tls/x509.ts'

/** A key and a certificate of this host, in one PEM text. */
export function certificateFor(hostname: string, now = new Date()): string {
  return selfSigned({ hostname, now, serial: randomBytes(16) })
}

/**
 * Trusts these certificates in this process, besides public ones, until the returned function is called. OpenSSL finds them by
 * their subject, so another one of the same host must not be trusted as well: `instead` names it.
 */
export function trustCertificates(pems: readonly string[], instead?: string): () => void {
  const before = getCACertificates('default')
  const others = before.filter(
    (pem) => instead === undefined || pem.trim() !== certificateOf(instead),
  )
  setDefaultCACertificates([...others, ...pems.map(certificateOf)])
  return () => setDefaultCACertificates(before)
}

const certificateOf = (pem: string) => pem.slice(pem.indexOf('-----BEGIN CERTIFICATE')).trim()

interface ProxyOptions {
  /** Certificates by name. */
  certificates: Record<string, string>
  /** The HTTP port behind it. */
  port: number
  /** The address it connects from. */
  from: string
  /** Whether it sends X-Forwarded-For. */
  forwards?: boolean
  /** How far its clock is ahead. */
  aheadMs?: number
  /** What it serves itself, by host and path: a text, or what differs from a plain response. */
  files?: Record<string, string | ServedFile>
  /** Where it redirects all other requests to. */
  redirect?: (path: string) => string
}

interface ServedFile {
  text: string
  status?: number
  headers?: Record<string, string>
}

/** A reverse proxy with TLS on a free port, as Caddy or nginx would be. */
export async function openHttpsProxy(options: ProxyOptions) {
  const { certificates, port, from, forwards = true, aheadMs = 0, files = {}, redirect } = options
  const contexts = new Map(
    Object.entries(certificates).map(([name, pem]) => {
      return [name, createSecureContext({ cert: pem, key: pem })] as const
    }),
  )
  const [first = ''] = Object.values(certificates)
  const server = createServer(
    { cert: first, key: first, SNICallback: (name, use) => use(null, contexts.get(name)) },
    (incoming, outgoing) => {
      const { url: path, method, headers } = incoming
      const host = (headers.host ?? '').replace(/:\d+$/, '')
      if (path?.startsWith('/.well-known/')) {
        const file = files[`${host}${path}`] ?? { text: '', status: 404 }
        const {
          text,
          status = 200,
          headers = {},
        } = typeof file === 'string' ? { text: file } : file
        outgoing.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(text)
        return
      }
      if (redirect) {
        outgoing.writeHead(301, { location: redirect(path ?? '/') }).end()
        return
      }
      const client = incoming.socket.remoteAddress?.replace('::ffff:', '') ?? ''
      const forwarded = forwards ? { 'x-forwarded-for': client } : {}
      const target = { host: '127.0.0.1', port, localAddress: from, path, method, agent: false }
      const inner = request({ ...target, headers: { ...headers, ...forwarded } }, (response) => {
        const date = new Date(Date.now() + aheadMs).toUTCString()
        outgoing.writeHead(response.statusCode ?? 0, { ...response.headers, date })
        response.pipe(outgoing)
      })
      inner.on('error', () => outgoing.destroy())
      incoming.pipe(inner)
    },
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}
