import { type Agent, request } from 'node:http'

/** The status of one request over a connection of this agent: cheaper than fetch for thousands of requests. */
export function statusOf(
  url: string,
  { headers, agent }: { headers: Record<string, string>; agent: Agent },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, headers }, (response) => {
      response.resume()
      response.on('error', reject)
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}
