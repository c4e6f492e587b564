import { connect } from 'node:net'

/** The ways to send a parameter. */
export type Encoding = 'query' | 'form' | 'json' | 'multipart'
export const ENCODINGS: readonly Encoding[] = ['query', 'form', 'json', 'multipart']

export interface TestResponse {
  status: number
  headers: Headers
  text: string
  /** The JSON of the response, an empty object if there is none. */
  body: Record<string, unknown>
}

export async function request(url: string, init: RequestInit = {}): Promise<TestResponse> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : {},
  }
}

/** One POST with its parameters in one of the four encodings. */
export async function post(
  url: string,
  params: Record<string, string>,
  encoding: Encoding = 'form',
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  const form = new URLSearchParams(params)
  if (encoding === 'query') return await request(`${url}?${form}`, { method: 'POST', headers })
  if (encoding === 'form') return await request(url, { method: 'POST', headers, body: form })
  if (encoding === 'json') return await postJson(url, JSON.stringify(params), headers)
  const parts = new FormData()
  for (const [name, value] of Object.entries(params)) parts.append(name, value)
  return await request(url, { method: 'POST', headers, body: parts })
}

export async function postJson(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  return await request(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  })
}

/** What is wrong with this error response; undefined if nothing is. */
export function problemFault({ body, headers, status }: TestResponse): string | undefined {
  const { message, code, request_id: requestId } = body
  const shape = Object.keys(body).sort().join()
  if (shape !== 'code,message,request_id,status') return `has the fields ${shape}`
  if (body['status'] !== 'error') return `says status ${String(body['status'])}`
  for (const text of [message, code, requestId]) {
    if (typeof text !== 'string' || text === '')
      return `has an empty field: ${JSON.stringify(body)}`
  }
  if (headers.get('x-request-id') !== requestId) return 'has another request id in its header'
  const late = status === 429 || status === 503
  if (late && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) return 'lacks Retry-After'
  return undefined
}

/** Writes these bytes to a new socket and reads until the server closes it. */
export async function sendRaw(
  port: number,
  bytes: string | Uint8Array,
  { from = '127.0.0.1', halfClose = false } = {},
): Promise<string> {
  return await new Promise((resolve) => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1', localAddress: from }, () => {
      if (halfClose) socket.end(bytes)
      else socket.write(bytes)
    })
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    // After a reset, the data received before it counts.
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
  })
}

interface RawRequest {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

/** One request from another loopback address than fetch uses, such as a proxy's. */
export async function requestFrom(
  port: number,
  from: string,
  { method = 'GET', path, headers = {}, body = '' }: RawRequest,
): Promise<TestResponse> {
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const all = { host: 'mayfly.test', connection: 'close', ...length, ...headers }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n${body}`
  return parseResponse(await sendRaw(port, request, { from }))
}

/** Parses the first response in the data received on a socket. */
export function parseResponse(data: string): TestResponse {
  const [head = '', ...rest] = data.split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const headers = new Headers(
    fields.map((field) => {
      const colon = field.indexOf(':')
      return [field.slice(0, colon), field.slice(colon + 1).trim()] as [string, string]
    }),
  )
  const text = rest.join('\r\n\r\n').slice(0, Number(headers.get('content-length') ?? 0))
  const isJson = headers.get('content-type')?.startsWith('application/json')
  return {
    status: Number(line.split(' ')[1]),
    headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : {},
  }
}

/** The path of a route with the values of its parameters. It cannot have an empty one. */
export function pathWith(path: string, params: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = encodeURIComponent((params[name] ?? '').toWellFormed())
    return value === '' ? whole : value
  })
}
