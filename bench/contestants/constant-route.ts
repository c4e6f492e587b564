import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

// Baseline: the maximum rate of node:http on one thread, with prebuilt responses. The second argument is a JSON file with the
// status, headers and body that mayfly returned for each path.

interface Constant {
  path: string
  status: number
  headers: Record<string, string>
  body: string
}

const [port = '', file = ''] = process.argv.slice(2)
const constants = JSON.parse(readFileSync(file, 'utf8')) as Constant[]
const byPath = new Map(
  constants.map(({ path, status, headers, body }) => {
    const length: Record<string, string> = body
      ? { 'content-length': String(Buffer.byteLength(body)) }
      : {}
    return [path, { status, headers: { ...headers, ...length }, body }]
  }),
)
createServer((request, response) => {
  const found = byPath.get(request.url ?? '')
  if (found) response.writeHead(found.status, found.headers).end(found.body)
  else response.writeHead(404).end()
}).listen(Number(port), '127.0.0.1')
