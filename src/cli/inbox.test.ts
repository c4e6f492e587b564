import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { watchInbox } from './inbox.ts'

const servers: ReturnType<typeof createServer>[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

/** Something else that speaks HTTP where a mayfly was expected. */
async function stranger(type: string, body: string, status = 200): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

for (const [name, type, body, status] of [
  ['a page', 'text/html', '<h1>Hello</h1>', 200],
  ['JSON of another kind', 'application/json', '{"id":1}', 200],
  ['JSON that is no object', 'application/json', 'null', 200],
  ['what is called JSON and is none', 'application/json', '<h1>', 200],
  ['a failure without a word of ours', 'application/json', '[]', 500],
] as const) {
  test(`${name} is told from a mayfly`, async () => {
    const url = await stranger(type, body, status)
    const printed: string[] = []
    const watching = watchInbox({ url, prefix: undefined, count: 1 }, (line) => printed.push(line))
    await expect(watching).rejects.toThrow(
      `Something answers at ${url}, but not as a mayfly does (status ${status}).`,
    )
    expect(printed).toEqual([])
  })
}
