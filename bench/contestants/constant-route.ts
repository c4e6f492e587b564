import { readFileSync } from 'node:fs'
import { fastify } from 'fastify'

// Baseline: the maximum rate of Fastify on one thread, with prebuilt responses. The second argument is a JSON file with the
// status, headers and body that mayfly returned for each path.

interface Constant {
  path: string
  status: number
  headers: Record<string, string>
  body: string
}

const [port = '', file = ''] = process.argv.slice(2)
const constants = JSON.parse(readFileSync(file, 'utf8')) as Constant[]
const server = fastify({ logger: false })
for (const { path, status, headers, body } of constants) {
  server.get(path, (_request, reply) => reply.code(status).headers(headers).send(body))
}
await server.listen({ port: Number(port), host: '127.0.0.1' })
