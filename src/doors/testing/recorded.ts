import { once } from 'node:events'
import { connect } from 'node:net'
import { parseResponse, type TestResponse } from '../../../test/kit/http/http-client.ts'

/**
 * Sends a request as another program does, header for header: lines separated by line feeds, with the length of the body at
 * `Content-Length: LENGTH`. The connection stays open until the response is there. JSON-LD is parsed, too.
 */
export async function sendRecorded(port: number, recorded: string): Promise<TestResponse> {
  const [head = '', body = ''] = recorded.trim().split(/\n\n\s*/)
  const lines = head.replace('LENGTH', String(Buffer.byteLength(body))).split('\n')
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(`${lines.map((line) => line.trim()).join('\r\n')}\r\n\r\n${body}`)
  let received = ''
  while (!isComplete(received)) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    received += chunk.toString('latin1')
  }
  socket.destroy()
  const response = parseResponse(received)
  const isJson = /^application\/(?:ld\+)?json/.test(response.headers.get('content-type') ?? '')
  return { ...response, body: isJson ? JSON.parse(response.text) : {} }
}

function isComplete(received: string): boolean {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = Number(/^content-length: (\d+)\r?$/im.exec(received.slice(0, end))?.[1] ?? 0)
  return received.length - end - 4 >= length
}
