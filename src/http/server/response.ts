import type { Readable } from 'node:stream'

/** What goes back over the wire. `shape` exists for the compiler only: the type that the body was made from. */
export interface HttpResponse<T = unknown> {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array | Readable | undefined
  /** Each character of the body is one byte of it: see readyJson. */
  bytewise?: true
  readonly shape?: T
}

// On every answer: nothing is sniffed, framed, or told to the next site.
const GUARD = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

// No credentials: a page elsewhere can ask only for what it has the token of.
const SHARED = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Retry-After, X-Request-Id, Content-Disposition',
}

const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  ...GUARD,
  ...SHARED,
}

/** JSON that nobody on the way may keep. */
export function json<T>(value: T, headers: Record<string, string> = {}): HttpResponse<T> {
  return { status: 200, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(value) }
}

/**
 * JSON to be sent many times. Its characters are the UTF-8 bytes of the text, and its headers are complete: node sends
 * both in one piece, which was a third less work than headers and a Buffer.
 */
export function readyJson(
  value: unknown,
  headers: Record<string, string>,
): HttpResponse<never> & { body: string } {
  const body = Buffer.from(JSON.stringify(value)).toString('latin1')
  const all = { ...JSON_HEADERS, ...headers, 'content-length': String(body.length) }
  return { status: 200, headers: all, body, bytewise: true }
}

export function success<T extends object>(value: T): HttpResponse<{ status: 'success' } & T> {
  return json({ status: 'success' as const, ...value })
}

/** A body that is not JSON. */
export function file(
  type: string,
  body: HttpResponse['body'],
  headers: Record<string, string> = {},
): HttpResponse {
  return { status: 200, headers: { ...GUARD, 'content-type': type, ...headers }, body }
}

/** A body that is not JSON, for pages elsewhere too, and kept by nobody on the way. */
export function privateFile(
  type: string,
  body: HttpResponse['body'],
  headers: Record<string, string>,
): HttpResponse {
  return file(type, body, { ...SHARED, 'cache-control': 'no-store', ...headers })
}

/** An answer without a body. */
export function empty(status: number, headers: Record<string, string>): HttpResponse<never> {
  return {
    status,
    headers: { ...GUARD, ...SHARED, 'cache-control': 'no-store', ...headers },
    body: undefined,
  }
}

/** Headers of a file that a browser saves and never shows: what a stranger sent must not run under our name. */
export function downloadHeaders(filename: string): Record<string, string> {
  return {
    'content-disposition': disposition(filename),
    'content-security-policy': "sandbox; default-src 'none'",
  }
}

/** RFC 6266: an ASCII name for old clients, the true one beside it. */
export function disposition(filename: string): string {
  const ascii = filename.replace(/[^A-Za-z0-9 ._()-]/gu, '_')
  // encodeURIComponent leaves these five, which RFC 8187 does not allow all of; half characters it refuses.
  const exact = encodeURIComponent(filename.toWellFormed()).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`
}
