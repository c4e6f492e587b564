import type { ProxiedClient } from '../proxied-client.ts'
import { retryWhileUnavailable, type Tally } from './tally.ts'

/** Towards the service, or the proxy in front of it. */
export type SoakClient = Pick<ProxiedClient, 'send' | 'open' | 'smtp'>

export interface RequestOptions {
  token?: string
  method?: 'GET' | 'POST'
  /** Which statuses the contract allows besides 200. `again`: an attempt that failed may have had its effect. */
  allows?(status: number, again: boolean): boolean
}

export type SoakRequest = ReturnType<typeof openRequests>

/** Each request has a connection of its own: one that is closed is never an idle one. */
export function openRequests(client: SoakClient, tally: Tally) {
  /** The JSON of a 200; undefined for another status that is allowed. */
  return async (path: string, { token = '', method = 'GET', allows }: RequestOptions = {}) => {
    if (token) tally.secrets.add(token)
    const response = await retryWhileUnavailable(tally, 'HTTP', async () => {
      const start = performance.now()
      const { status, body } = await client.send(path, { token, method })
      return { status, body, ms: performance.now() - start }
    })
    const { status, body, ms, again } = response
    if (status === 200) return { ms, json: JSON.parse(body.toString()) as unknown }
    if (!allows?.(status, again)) throw new Error(describe(path, status, body))
    return { ms, json: undefined }
  }
}

/** The same for all requests that fail in the same way. */
function describe(path: string, status: number, body: Buffer): string {
  const [, code = ''] = /"code":"(\w+)"/.exec(body.toString()) ?? []
  return `${path.split('?', 1)[0]}: ${status} ${code}`
}
