import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createSecureContext, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { selfSigned } from '../../../src/tls/x509.ts'
import { program } from '../programs/programs.ts'
import { tempFolder } from '../store/stores.ts'

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
  /** Whether it passes on a response only once it has all of it. */
  buffers?: boolean
}

interface ServedFile {
  text: string
  status?: number
  headers?: Record<string, string>
}

/** A reverse proxy with TLS on a free port, as Caddy or nginx would be. */
export async function openHttpsProxy(options: ProxyOptions) {
  const { certificates, port, from, forwards = true, aheadMs = 0, files = {}, redirect } = options
  const { buffers = false } = options
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
        const passOn = () =>
          outgoing.writeHead(response.statusCode ?? 0, { ...response.headers, date })
        if (!buffers) response.pipe(passOn())
        else
          response.toArray().then(
            (chunks) => passOn().end(Buffer.concat(chunks)),
            () => outgoing.destroy(),
          )
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

/** A certificate of an intermediate CA, with its key, and the root. */
export function issuedCertificate(host: string): { leaf: string; root: string } {
  const folder = tempFolder()
  const at = (name: string) => join(folder.path, name)
  const openssl = (...args: string[]) => execFileSync(program('openssl'), args, { stdio: 'ignore' })
  const request = (name: string, subject: string) =>
    openssl(
      ...'req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'.split(' '),
      ...['-subj', `/CN=${subject}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.csr`)],
    )
  const sign = (name: string, issuer: string, extensions: string) => {
    writeFileSync(at(`${name}.ext`), extensions)
    const ca =
      name === issuer
        ? ['-key', at(`${name}.key`)]
        : ['-CA', at(`${issuer}.pem`), '-CAkey', at(`${issuer}.key`)]
    openssl(
      'x509',
      '-req',
      '-days',
      '90',
      '-in',
      at(`${name}.csr`),
      ...ca,
      '-extfile',
      at(`${name}.ext`),
      '-out',
      at(`${name}.pem`),
    )
  }
  request('root', 'Test Root')
  sign('root', 'root', 'basicConstraints=critical,CA:true\n')
  request('middle', 'Test Intermediate')
  sign('middle', 'root', 'basicConstraints=critical,CA:true\n')
  request('leaf', host)
  sign('leaf', 'middle', `subjectAltName=DNS:${host}\n`)
  const read = (name: string) => readFileSync(at(name), 'utf8')
  const result = { leaf: read('leaf.key') + read('leaf.pem'), root: read('root.pem') }
  rmSync(folder.path, { recursive: true })
  return result
}
