import { type Agent, request } from 'node:http'

/** The status of one request over a connection of this agent: cheaper than fetch for thousands of requests. */
export function statusOf(
  url: string,
  { headers, agent }: { headers: Record<string, string>; agent: Agent },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, headers }, (answer) => {
      answer.resume()
      answer.on('error', reject)
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    asked.on('error', reject)
    asked.end()
  })
}
