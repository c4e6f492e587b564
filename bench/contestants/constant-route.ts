import { readFileSync } from 'node:fs'
import { fastify } from 'fastify'

// What Fastify gives on one thread when nothing is left to do: answers made before the first request. The second
// argument is a JSON file with, for each path, the status, the headers and the body that mayfly gave.

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
