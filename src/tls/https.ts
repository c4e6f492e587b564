import type { IncomingMessage, RequestListener, ServerOptions, ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { SecureContext, TLSSocket } from 'node:tls'
import { isLoopback } from '../base/ip.ts'
import { countResponse } from '../http/server/metrics.ts'
import { empty, isReceived, writeEarlyResponse, writeResponse } from '../http/server/response.ts'
import type { TlsContexts } from './contexts.ts'

const ACME_PROTOCOL = 'acme-tls/1'
// A client that never completes its handshake holds one of the connections of its address.
const HANDSHAKE_MS = 15_000

/** An HTTPS server with certificates by host name, which also responds to tls-alpn-01. */
export function createHttpsServer(
  options: ServerOptions,
  contexts: TlsContexts,
  handle: RequestListener,
): Server {
  const { createServer } = process.getBuiltinModule('node:https')
  // The order of the two callbacks depends on the version of TLS: ALPN comes first in 1.3, SNI in 1.2.
  const isAcme = new WeakSet<TLSSocket>()
  const challenges = new Map<string, SecureContext>()

  async function select(socket: TLSSocket, name: string): Promise<SecureContext> {
    const challenge = await contexts.findChallenge(name)
    if (challenge) challenges.set(name, challenge)
    else challenges.delete(name)
    if (!isAcme.has(socket)) return contexts.contextFor(name)
    if (!challenge) throw new Error('there is no challenge')
    return challenge
  }

  const server = createServer(
    {
      ...options,
      handshakeTimeout: HANDSHAKE_MS,
      SNICallback(this: TLSSocket, servername, done) {
        const name = servername.toLowerCase()
        select(this, name).then(
          (context) => done(null, context),
          // If the store is unavailable, only the CA notices.
          (error) => (isAcme.has(this) ? done(error) : done(null, contexts.contextFor(name))),
        )
      },
      ALPNCallback(this: TLSSocket, { servername, protocols }) {
        const name = String(servername).toLowerCase()
        if (!protocols.includes(ACME_PROTOCOL)) return protocols.find((one) => one === 'http/1.1')
        if (!contexts.isChallengeable(name)) return undefined
        isAcme.add(this)
        const challenge = challenges.get(name)
        if (challenge) this.setKeyCert(challenge)
        return ACME_PROTOCOL
      },
    },
    (request, response) => {
      response.setHeader('strict-transport-security', 'max-age=31536000')
      handle(request, response)
    },
  )
  // For clients without SNI, of which SNICallback is not told.
  contexts.followDefault((pem) => server.setSecureContext({ cert: pem, key: pem }))
  // An HTTP response cannot be sent to a client that does not speak TLS.
  server.removeAllListeners('tlsClientError').on('tlsClientError', (_, socket) => socket.destroy())
  // RFC 8737 3: the connection is closed after the handshake.
  server.prependListener('secureConnection', (socket) => {
    if (socket.alpnProtocol === ACME_PROTOCOL) socket.destroySoon()
  })
  return server
}

// What load balancers, monitors and CAs request without TLS.
const ANSWERED = /^\/(?:livez|readyz|metrics|\.well-known\/acme-challenge\/[^/?]+)(?:\?|$)/

interface RedirectOptions {
  baseUrl: string
  /** A trusted proxy in front of this port serves https itself. */
  isProxied(request: IncomingMessage): boolean
}

/** On the port without TLS: redirects clients of other machines to https. */
export function redirectToHttps(
  { baseUrl, isProxied }: RedirectOptions,
  handle: RequestListener,
): RequestListener {
  const { origin, port, hostname } = new URL(baseUrl)
  const suffix = port === '' ? '' : `:${port}`

  async function redirect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '/', headers } = request
    const host = /^(mta-sts\.[a-z0-9.-]{1,240})(?::\d{1,5})?$/i.exec(headers.host ?? '')?.[1]
    const target = host === undefined || host === hostname ? origin : `https://${host}${suffix}`
    // Anything but a path would name another host.
    const path = url.startsWith('/') ? url : '/'
    const made = empty(308, { location: `${target}${path}`, 'cache-control': 'no-store' })
    countResponse('none', made.status, undefined)
    if (await isReceived(request)) await writeResponse(response, made)
    else await writeEarlyResponse(request, response, made, false)
  }

  return (request, response) => {
    const isLocal = isLoopback(request.socket.remoteAddress ?? '')
    if (isLocal || ANSWERED.test(request.url ?? '') || isProxied(request)) handle(request, response)
    else redirect(request, response).catch(() => response.destroy())
  }
}
