import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import type { HttpResponse } from './response.ts'

/** Writes one answer; resolves when nothing is left to write. */
export async function writeAnswer(
  response: ServerResponse,
  { status, headers, body, bytewise }: HttpResponse,
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
  if (bytewise && typeof body === 'string') {
    response.writeHead(status, headers).end(body, 'latin1')
    return
  }
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  response.writeHead(status, { ...headers, 'content-length': String(length) }).end(body)
}

/** Whether the request is here to its last byte. What we do not want of it is thrown away. */
export async function hasArrived(request: IncomingMessage): Promise<boolean> {
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
export async function writeEarly(
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
