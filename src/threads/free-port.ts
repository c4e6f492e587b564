import { createServer } from 'node:net'

/** Shows by a plain bind that nobody has the port: with reusePort a stranger's listener would share our mail. */
export async function freePort(host: string, port: number): Promise<number> {
  const server = createServer()
  const bound = Promise.withResolvers<number>()
  server.once('error', bound.reject)
  server.listen({ host, port }, () => {
    const address = server.address()
    bound.resolve(typeof address === 'object' && address ? address.port : port)
  })
  const number = await bound.promise
  await new Promise((closed) => server.close(closed))
  return number
}
