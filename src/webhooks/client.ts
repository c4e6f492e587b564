import { lookup, Resolver } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { unlessAborted } from '../base/jobs/repeat.ts'
import { counter, histogram } from '../base/metrics.ts'
import { isProgrammingError, Problem } from '../base/problem.ts'
import {
  ATTEMPT_ERRORS,
  type AttemptError,
  type AttemptOutcome,
  MAX_WEBHOOKS_PER_KEY,
} from './rules.ts'
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

interface WebhookRequest {
  url: string
  keyId: string
  headers: Record<string, string>
  body: string
  signal?: AbortSignal
}

export type WebhookClient = ReturnType<typeof openWebhookClient>

/** Makes requests to hosts that strangers name. Each name is resolved once, and what is checked is what is connected to. */
export function openWebhookClient(options: ClientOptions) {
  const { timeoutMs = TIMEOUT_MS } = options
  const resolveTarget = targetResolver(options)
  const post = openPost(options.ca)

  return {
    /**
     * The URL as it is stored. Throws `invalid_url`, `not_allowed` if it is not a target that we connect to, or `overloaded` if
     * too many names of this key are being resolved.
     */
    async check(url: string, keyId: string): Promise<string> {
      try {
        return (await resolveTarget(url, keyId, AbortSignal.timeout(timeoutMs))).url.href
      } catch (error) {
        if (error instanceof Problem || isProgrammingError(error)) throw error
        const isRefused = error instanceof AttemptFailed && error.kind === 'not_allowed'
        const why = isRefused ? error.message : 'the host name cannot be resolved.'
        throw Object.assign(new Problem(isRefused ? 'not_allowed' : 'invalid_url', `url: ${why}`), {
          cause: error,
        })
      }
    },
    /** One attempt; never rejects, except with the reason of the signal or a programming error. */
    async send({ signal, ...request }: WebhookRequest): Promise<Outcome> {
      const startedAt = performance.now()
      const deadline = new AbortController()
      const timer = setTimeout(() => deadline.abort(), timeoutMs)
      const either = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal
      const outcome = await resolveTarget(request.url, request.keyId, either)
        .then((target) => post(target, request, either))
        .catch((error: unknown) => ({
          status: null,
          error: errorOf(error, deadline.signal),
          retryAfter: undefined,
        }))
        .finally(() => clearTimeout(timer))
      signal?.throwIfAborted()
      const ms = Math.round(performance.now() - startedAt)
      attempts.add(outcome.error ?? `${Math.trunc((outcome.status ?? 0) / 100)}xx`)
      attemptSeconds.observe('', ms / 1000)
      return { ...outcome, ms }
    },
  }
}

interface Outcome extends AttemptOutcome {
  retryAfter: string | undefined
}

interface ResolvedTarget extends WebhookTarget {
  addresses: string[]
}

/** Throws `invalid_url` or AttemptFailed. */
function targetResolver({ allowed, dnsServers }: ClientOptions) {
  const resolveName = openResolver(dnsServers, allowed)
  return async (text: string, keyId: string, signal: AbortSignal): Promise<ResolvedTarget> => {
    const target = parseTarget(text)
    const { host } = target
    const addresses = isIP(host) === 0 ? await resolveName(host, keyId, signal) : [host]
    const refusal = targetRefusal(target, addresses, allowed)
    if (refusal) throw new AttemptFailed('not_allowed', refusal)
    if (addresses.length === 0) throw new AttemptFailed('not_resolved', 'no address')
    return { ...target, addresses }
  }
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
      const found = await unlessAborted(signal, lookup(host, { all: true })).catch(() => [])
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
function openPost(ca: string | undefined) {
  // Not imported: see runtime/http-server.ts. Each is loaded when it is first used.
  const open = (protocol: string) => {
    if (protocol === 'http:') {
      const { request, Agent } = process.getBuiltinModule('node:http')
      return { request, agent: new Agent({ keepAlive: false }), connected: 'connect' }
    }
    const { request, Agent } = process.getBuiltinModule('node:https')
    const options = { keepAlive: false, maxCachedSessions: TLS_SESSIONS, ...(ca && { ca }) }
    return { request, agent: new Agent(options), connected: 'secureConnect' }
  }
  const opened = new Map<string, ReturnType<typeof open>>()

  return async ({ url, addresses }: ResolvedTarget, given: WebhookRequest, signal: AbortSignal) => {
    const connection = opened.get(url.protocol) ?? open(url.protocol)
    opened.set(url.protocol, connection)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const sent = connection.request(url, {
      method: 'POST',
      agent: connection.agent,
      signal,
      lookup: lookupOf(addresses),
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(given.body),
        'user-agent': 'Mayfly-Webhook/1',
        ...given.headers,
      },
    })
    let isConnected = false
    sent.on('socket', (socket) => {
      socket.once(connection.connected, () => {
        isConnected = true
      })
    })
    sent.on('response', resolve)
    // Also after the response: the receiver may reset the connection.
    sent.on('error', reject)
    // After a status of 101 there is neither a response nor an error.
    sent.on('close', () => reject(new Error('closed')))
    sent.end(given.body)
    const response = await promise.catch((error: unknown) => {
      const isOfPeer = isConnected && !isProgrammingError(error)
      throw isOfPeer ? new AttemptFailed('invalid_response', 'no response') : error
    })
    discard(response)
    return {
      status: response.statusCode ?? null,
      error: null,
      retryAfter: response.headers['retry-after'],
    }
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

const TLS = /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH)/

function errorOf(error: unknown, deadline: AbortSignal): AttemptError {
  if (isProgrammingError(error)) throw error
  if (deadline.aborted) return 'timeout'
  if (error instanceof AttemptFailed) return error.kind
  // A target that was valid when the webhook was created.
  if (error instanceof Problem) return error.code === 'overloaded' ? 'not_resolved' : 'not_allowed'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return TLS.test(code) ? 'tls' : 'connection_failed'
}
