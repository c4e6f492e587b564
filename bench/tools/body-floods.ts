// Requests that cost much for their size, each as the bytes to write. One client may send 50 a second.

export const BODY_FLOODS = [
  'form names',
  'JSON keys',
  'invalid escapes',
  'chunks',
  'MCP',
  'webhook filters',
] as const
export type BodyFlood = (typeof BODY_FLOODS)[number]

// What one body could have before bodies were limited to 64 KB.
const BYTES = 256 * 1024

/** To be sent in turn. `headers` are those of the client; `key` is needed for webhook filters. */
export function floodRequests(flood: BodyFlood, headers: string, key: string): Buffer[] {
  const post = (path: string, type: string, body: string, more = '') => {
    const fields = [`POST ${path} HTTP/1.1`, 'Host: localhost', headers, `Content-Type: ${type}`]
    const head = `${fields.join('\r\n')}\r\nConnection: close\r\n${more}`
    const size = more.includes('chunked') ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
    return Buffer.from(`${head}${size}\r\n${body}`)
  }
  const postJson = (path: string, value: unknown, more = '') =>
    post(path, 'application/json', JSON.stringify(value), more)
  const form = 'application/x-www-form-urlencoded'
  const path = '/api/delete-mail'
  const mcp = (message: unknown) =>
    postJson('/mcp', message, 'Accept: application/json, text/event-stream\r\n')
  const makers: Record<BodyFlood, () => Buffer[]> = {
    'form names': () => [post(path, form, names(60_000).join('&').slice(0, BYTES))],
    'JSON keys': () => [postJson(path, numbered(27_000))],
    // Not refused: as many as there may be.
    'invalid escapes': () => [post(path, form, '%ff=%ff&'.repeat(999))],
    chunks: () => {
      const chunks = `${'1\r\nx\r\n'.repeat(64 * 1024)}0\r\n\r\n`
      return [post(path, form, chunks, 'Transfer-Encoding: chunked\r\n')]
    },
    MCP: () => [
      mcp(Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/list' }))),
      mcp(toolCall(numbered(25_000))),
    ],
    // Marks that decompose, which take longest to fold.
    'webhook filters': () => [
      postJson(
        '/webhooks',
        { url: 'https://x.example.net/', from: '\u0344'.repeat(130_000) },
        `APIKey: ${key}\r\n`,
      ),
    ],
  }
  return makers[flood]()
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, at) => at.toString(36))
}

function numbered(count: number): Record<string, number> {
  return Object.fromEntries(names(count).map((name) => [`${name}x`, 0]))
}

function toolCall(args: unknown): object {
  const params = { name: 'list_messages', arguments: args }
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
}
