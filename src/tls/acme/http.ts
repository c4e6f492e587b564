import type { IncomingHttpHeaders } from 'node:http'
import { AcmeError } from './error.ts'

export interface AcmeResponse {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

export type SendAcme = (
  url: string,
  request: { method: 'GET' | 'HEAD' | 'POST'; body?: string; accept?: string },
) => Promise<AcmeResponse>

interface Options {
  /** Certificates to trust besides public ones, as PEM; for tests and private CAs. */
  ca: string | undefined
  userAgent: string
  signal: AbortSignal
}

const TIMEOUT_MS = 30_000
// The largest response is a chain of a few certificates.
const MAX_BYTES = 256 * 1024
const MAX_HEADER_BYTES = 16 * 1024

/** Sends requests to a CA: over https only, without redirects, bounded in time and size. */
export function openAcmeHttp({ ca, userAgent, signal }: Options): SendAcme {
  return async (url, { method, body, accept = '*/*' }) => {
    const target = URL.parse(url)
    if (target?.protocol !== 'https:')
      throw new AcmeError(`the CA named ${url}, which is not https`)
    const { request } = process.getBuiltinModule('node:https')
    const { getCACertificates } = process.getBuiltinModule('node:tls')
    const response = Promise.withResolvers<AcmeResponse>()
    const fail = (error: Error) =>
      response.reject(new AcmeError(`no response from ${target.host}: ${reasonOf(error)}`))
    const sent = request(target, {
      method,
      // A connection per request: orders are rare, and a CA may take it for idle meanwhile.
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      headers: {
        'user-agent': userAgent,
        accept,
        'accept-language': 'en',
        ...(body === undefined ? {} : { 'content-type': 'application/jose+json' }),
      },
      ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }),
    })
    sent.on('error', fail)
    sent.on('response', (incoming) => {
      const chunks: Buffer[] = []
      let bytes = 0
      incoming.on('error', fail)
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MAX_BYTES) sent.destroy(new Error(`more than ${MAX_BYTES / 1024} KB`))
        else chunks.push(chunk)
      })
      incoming.on('end', () => {
        const { statusCode: status = 0, headers } = incoming
        response.resolve({ status, headers, body: Buffer.concat(chunks).toString() })
      })
    })
    sent.end(body)
    return await response.promise
  }
}

/** If all addresses of a name refuse, the error has no message of its own. */
function reasonOf(error: Error & { code?: string }): string {
  return error.message || error.code || error.name
}
