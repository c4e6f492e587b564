import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Answer } from './answer.ts'

/** Writes one answer; resolves when nothing is left to write. */
export async function writeAnswer(
  response: ServerResponse,
  { status, headers, body, bytewise }: Answer,
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
