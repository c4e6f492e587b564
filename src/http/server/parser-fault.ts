import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../../core/problem.ts'
import { refusal } from './refusal.ts'

interface SocketWithAnswer extends Socket {
  /** Node's own name for the answer that is being written to this socket. */
  _httpMessage?: { headersSent: boolean; shouldKeepAlive: boolean; req: { complete: boolean } }
}

/** Answers what never became a request: too slow, too long, or no HTTP at all. */
export function answerParserFault(
  fault: Error & { code?: string },
  socket: SocketWithAnswer,
  requestId: string,
): void {
  // In the middle of an earlier answer there is no place for another one.
  if (fault.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) {
    socket.destroy(fault)
    return
  }
  // What came whole before the fault is answered for itself, and then we are done with this client.
  if (socket._httpMessage?.req.complete) {
    socket._httpMessage.shouldKeepAlive = false
    return
  }
  const { status, problem } = toldOf(fault.code)
  socket.end(rawRefusal(problem, requestId, status), () => socket.destroy())
}

/** A refusal as it goes over the wire, for a connection that has no request to answer; it closes the connection. */
export function rawRefusal(problem: Problem, requestId: string, status?: number): string {
  const { status: usual, headers, body } = refusal(problem, requestId)
  const code = status ?? usual
  const lines = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(String(body))}`,
    'connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

function toldOf(code: string | undefined): { status: number; problem: Problem } {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { status: 408, problem: new Problem('timeout', 'The request took too long to arrive.') }
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const problem = new Problem('too_large', 'The request line and headers exceed 16 KB.')
    return { status: 431, problem }
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return { status: 413, problem: new Problem('too_large', 'The chunk extensions are too long.') }
  }
  return {
    status: 400,
    problem: new Problem('invalid_parameter', 'This is no valid HTTP request.'),
  }
}
