import { lookup, Resolver } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { counter, histogram } from '../base/metrics.ts'
import { Problem } from '../base/problem.ts'
import type { WebhookClient, WebhookRequest } from './client.ts'
import { ATTEMPT_ERRORS, type AttemptError, MAX_WEBHOOKS_PER_KEY } from './rules.ts'
import { type AllowedTargets, parseTarget, targetRefusal, type WebhookTarget } from './target.ts'

interface ClientOptions {
  allowed: AllowedTargets
  /** Addresses, with a port unless it is 53; if empty, those of the system. */
  dnsServers: readonly string[]
  /** Only tests set these. */
  timeoutMs?: number
  ca?: string
}

const TIMEOUT_MS = 15_000
// A response is read so far and no longer, so that the receiver sees no reset, and then discarded.
const MAX_RESPONSE_BYTES = 64 * 1024
const MAX_RESPONSE_MS = 1_000
const TLS_SESSIONS = 1_000
const MAX_LOOKUPS_PER_KEY = MAX_WEBHOOKS_PER_KEY

const attempts = counter<string>(
  'mayfly_webhook_attempts_total',
  'Requests to receivers of webhooks, by class of status or error',
  'result',
  ['2xx', ...ATTEMPT_ERRORS],
)
const attemptSeconds = histogram(
  'mayfly_webhook_attempt_seconds',
  'Time until a receiver of webhooks answered, or the attempt failed',
)

/** Makes requests to hosts that strangers name. Each name is resolved once, and what is checked is what is connected to. */
export function openWebhookClient(options: ClientOptions): WebhookClient {
  const { timeoutMs = TIMEOUT_MS } = options
  const resolveTarget = targetResolver(options)
  const connections = openConnections(options.ca)

  async function post({ url: text, keyId, headers, body }: WebhookRequest, signal: AbortSignal) {
    const { url, addresses } = await resolveTarget(text, keyId, signal)
    const { request, agent } = connections(url.protocol)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const sent = request(url, {
      method: 'POST',
      agent,
      signal,
      lookup: lookupOf(addresses),
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'Mayfly-Webhook/1',
        ...headers,
      },
    })
    let isConnected = false
    sent.on('socket', (socket) => {
      const event = url.protocol === 'https:' ? 'secureConnect' : 'connect'
      socket.once(event, () => {
        isConnected = true
      })
    })
    sent.on('response', resolve)
    // Also after the response: the receiver may reset the connection.
    sent.on('error', reject)
    // After a status of 101 there is neither a response nor an error.
    sent.on('close', () => reject(new Error('closed')))
    sent.end(body)
    const response = await unlessAborted(promise, signal).catch((error: unknown) => {
      sent.destroy()
      if (!isConnected) throw error
      throw new AttemptFailed('invalid_response', 'no response')
    })
    discard(response)
    return { status: response.statusCode, retryAfter: response.headers['retry-after'] }
  }

  return {
    async check(url, keyId) {
      try {
        return (await resolveTarget(url, keyId, AbortSignal.timeout(timeoutMs))).url.href
      } catch (error) {
        if (error instanceof Problem) throw error
        const isRefused = error instanceof AttemptFailed && error.kind === 'not_allowed'
        const why = isRefused ? error.message : 'the host name cannot be resolved.'
        throw Object.assign(new Problem(isRefused ? 'not_allowed' : 'invalid_url', `url: ${why}`), {
          cause: error,
        })
      }
    },
    async send({ signal, ...request }) {
      const startedAt = performance.now()
      const deadline = new AbortController()
      const timer = setTimeout(() => deadline.abort(), timeoutMs)
      const either = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal
      const outcome: Outcome = await post(request, either)
        .catch((error: unknown) => ({ error: errorOf(error, deadline.signal) }))
        .finally(() => clearTimeout(timer))
      signal?.throwIfAborted()
      const { status, error, retryAfter } = outcome
      const ms = Math.round(performance.now() - startedAt)
      attempts.add(error ?? `${Math.trunc((status ?? 0) / 100)}xx`)
      attemptSeconds.observe('', ms / 1000)
      return { status, error, ms, retryAfter }
    },
  }
}

/** Throws `invalid_url` or AttemptFailed. */
function targetResolver({ allowed, dnsServers }: ClientOptions) {
  const resolveName = openResolver(dnsServers, allowed)
  return async (
    text: string,
    keyId: string,
    signal: AbortSignal,
  ): Promise<WebhookTarget & { addresses: string[] }> => {
    const target = parseTarget(text)
    const { host } = target
    const addresses = isIP(host) === 0 ? await resolveName(host, keyId, signal) : [host]
    const refusal = targetRefusal(target, addresses, allowed)
    if (refusal) throw new AttemptFailed('not_allowed', refusal)
    if (addresses.length === 0) throw new AttemptFailed('not_resolved', 'no address')
    return { ...target, addresses }
  }
}

interface Outcome {
  status?: number | undefined
  error?: AttemptError | undefined
  retryAfter?: string | undefined
}

class AttemptFailed extends Error {
  readonly kind: AttemptError
  constructor(kind: AttemptError, message: string) {
    super(message)
    this.kind = kind
  }
}

/**
 * All addresses of a name, none if it has none. Not by getaddrinfo, which cannot be cancelled and runs in a few threads of the
 * whole process: names whose servers never answer would occupy them.
 */
function openResolver(servers: readonly string[], { hosts }: AllowedTargets) {
  const pending = new Map<string, number>()

  async function query(host: string, signal: AbortSignal): Promise<string[]> {
    const resolver = new Resolver({ timeout: 2_000, tries: 2 })
    // A new one has just read the system's.
    if (servers.length > 0) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    signal.removeEventListener('abort', cancel)
    signal.throwIfAborted()
    return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  }

  return async (host: string, keyId: string, signal: AbortSignal): Promise<string[]> => {
    signal.throwIfAborted()
    // These may be in the hosts file only.
    if (host === 'localhost' || hosts.includes(host)) {
      const found = await unlessAborted(lookup(host, { all: true }), signal).catch(() => [])
      signal.throwIfAborted()
      return found.map(({ address }) => address)
    }
    const count = (pending.get(keyId) ?? 0) + 1
    if (count > MAX_LOOKUPS_PER_KEY) {
      throw new Problem('overloaded', 'Too many host names of this key are being resolved.', 5)
    }
    pending.set(keyId, count)
    try {
      return await query(host, signal)
    } finally {
      const left = (pending.get(keyId) ?? 0) - 1
      if (left > 0) pending.set(keyId, left)
      else pending.delete(keyId)
    }
  }
}

/** Each connection is new: what a name resolves to may change. */
function openConnections(ca: string | undefined) {
  // Not imported: see http/http-server.ts.
  const open = (protocol: string) => {
    if (protocol === 'http:') {
      const { request, Agent } = process.getBuiltinModule('node:http')
      return { request, agent: new Agent({ keepAlive: false }) }
    }
    const { request, Agent } = process.getBuiltinModule('node:https')
    const trust = ca === undefined ? {} : { ca }
    const options = { keepAlive: false, maxCachedSessions: TLS_SESSIONS, ...trust }
    return { request, agent: new Agent(options) }
  }
  const opened = new Map<string, ReturnType<typeof open>>()
  return (protocol: string) => {
    const known = opened.get(protocol) ?? open(protocol)
    opened.set(protocol, known)
    return known
  }
}

function lookupOf(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    const [first] = all
    if (options.all || !first) callback(null, all)
    else callback(null, first.address, first.family)
  }
}

function discard(response: IncomingMessage): void {
  let bytes = 0
  const end = () => response.destroy()
  const timer = setTimeout(end, MAX_RESPONSE_MS).unref()
  response.on('error', () => {})
  response.on('close', () => clearTimeout(timer))
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_RESPONSE_BYTES) end()
  })
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort))
}

const TLS = /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH)/

function errorOf(error: unknown, deadline: AbortSignal): AttemptError {
  if (deadline.aborted) return 'timeout'
  if (error instanceof AttemptFailed) return error.kind
  // A target that was valid when the webhook was created.
  if (error instanceof Problem) return error.code === 'overloaded' ? 'not_resolved' : 'not_allowed'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return TLS.test(code) ? 'tls' : 'connection_failed'
}
