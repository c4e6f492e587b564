import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'

/** What goes back over the wire. `shape` exists for the compiler only: the type that the body was made from. */
export interface HttpResponse<T = unknown> {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array | Readable | undefined
  /** Each character of the body is one byte of it: see readyJson. */
  latin1?: true
  readonly shape?: T
}

// On every answer: nothing is sniffed, framed, or told to the next site.
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

// No credentials: a page elsewhere can ask only for what it has the token of.
const PUBLIC_CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Retry-After, X-Request-Id, Content-Disposition',
}

const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  ...SECURITY_HEADERS,
  ...PUBLIC_CORS_HEADERS,
}

/** JSON that nobody on the way may keep. */
export function json<T>(value: T, headers: Record<string, string> = {}): HttpResponse<T> {
  return { status: 200, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(value) }
}

/**
 * JSON to be sent many times. Its characters are the UTF-8 bytes of the text, and its headers are complete: node sends
 * both in one piece, which was a third less work than headers and a Buffer.
 */
export function preparedJson(
  value: unknown,
  headers: Record<string, string>,
): HttpResponse<never> & { body: string } {
  const body = Buffer.from(JSON.stringify(value)).toString('latin1')
  const all = { ...JSON_HEADERS, ...headers, 'content-length': String(body.length) }
  return { status: 200, headers: all, body, latin1: true }
}

export function success<T extends object>(value: T): HttpResponse<{ status: 'success' } & T> {
  return json({ status: 'success' as const, ...value })
}

/** A body that is not JSON. */
export function contentResponse(
  type: string,
  body: HttpResponse['body'],
  headers: Record<string, string> = {},
): HttpResponse {
  return { status: 200, headers: { ...SECURITY_HEADERS, 'content-type': type, ...headers }, body }
}

/** A body that is not JSON, for pages elsewhere too, and kept by nobody on the way. */
export function privateContentResponse(
  type: string,
  body: HttpResponse['body'],
  headers: Record<string, string>,
): HttpResponse {
  return contentResponse(type, body, {
    ...PUBLIC_CORS_HEADERS,
    'cache-control': 'no-store',
    ...headers,
  })
}

/** An answer without a body. */
export function empty(status: number, headers: Record<string, string>): HttpResponse<never> {
  return {
    status,
    headers: {
      ...SECURITY_HEADERS,
      ...PUBLIC_CORS_HEADERS,
      'cache-control': 'no-store',
      ...headers,
    },
    body: undefined,
  }
}

/** Headers of a file that a browser saves and never shows: what a stranger sent must not run under our name. */
export function downloadHeaders(filename: string): Record<string, string> {
  return {
    'content-disposition': contentDisposition(filename),
    'content-security-policy': "sandbox; default-src 'none'",
  }
}

/** RFC 6266: an ASCII name for old clients, the true one beside it. */
export function contentDisposition(filename: string): string {
  const ascii = filename.replace(/[^A-Za-z0-9 ._()-]/gu, '_')
  // encodeURIComponent leaves these five, which RFC 8187 does not allow all of; half characters it refuses.
  const exact = encodeURIComponent(filename.toWellFormed()).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`
}

/** Writes one answer; resolves when nothing is left to write. */
export async function writeResponse(
  response: ServerResponse,
  { status, headers, body, latin1 }: HttpResponse,
): Promise<void> {
  if (body instanceof Readable) {
    response.writeHead(status, headers)
    await pipeline(body, response)
    return
  }
  if (body === undefined) {
    response.writeHead(status, headers).end()
    return
  }
  if (latin1 && typeof body === 'string') {
    response.writeHead(status, headers).end(body, 'latin1')
    return
  }
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  response.writeHead(status, { ...headers, 'content-length': String(length) }).end(body)
}

/** Whether the request is here to its last byte. What we do not want of it is thrown away. */
export async function isReceived(request: IncomingMessage): Promise<boolean> {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (request.complete || (length === undefined && coding === undefined)) return true
  request.resume()
  // The rest often lies in the same packet, and the parser has not come to it yet.
  await setImmediate()
  return request.complete
}

/**
 * Answers a request that is still arriving. The connection is of no more use then; but closing it on bytes that nobody
 * read would take the answer from the client too. So it may finish, as long as any request may take.
 */
export async function writeEarlyResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: HttpResponse,
): Promise<void> {
  response.shouldKeepAlive = false
  const text = String(body ?? '')
  const length = String(Buffer.byteLength(text))
  response.writeHead(status, { ...headers, 'content-length': length }).flushHeaders()
  response.write(text)
  if (!request.destroyed) await Promise.race([once(request, 'end'), once(request, 'close')])
  response.end()
}
