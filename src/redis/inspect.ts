import { withTimeout } from '../base/jobs/repeat.ts'
import { toError } from '../base/problem.ts'
import { loadClientFactory } from './client-options.ts'

export interface RedisFacts {
  version: string
  usedBytes: number
  /** 0: no limit. */
  maxBytes: number
}

const CONNECT_MS = 2_000
// Like a rate limit: a script that writes. It shows what a replica, a full memory or the rights of the user forbid.
const WRITE = "return redis.call('SET', KEYS[1], '1', 'PX', '1')"

/** For `mayfly doctor`. `error` is the reply of the server, or why there was none; without the password. */
export async function inspectRedis(url: string): Promise<RedisFacts | { error: string }> {
  const { password } = new URL(url)
  const client = (await loadClientFactory(url))()
  client.on('error', () => {})
  try {
    const connected = await withTimeout(CONNECT_MS, client.connect())
    if (!connected) return { error: 'no response' }
    const info = String(await client.sendCommand(['INFO']))
    await client.sendCommand(['EVAL', WRITE, '1', 'mayfly:rate:check'])
    // Without a topic: no node does anything.
    await client.sendCommand(['PUBLISH', 'mayfly:wakes', 'check'])
    const read = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? ''
    return {
      version: read('redis_version'),
      usedBytes: Number(read('used_memory')),
      maxBytes: Number(read('maxmemory')),
    }
  } catch (error) {
    const { message, code = '' }: NodeJS.ErrnoException = toError(error)
    const secrets = [password, decodeURIComponent(password)].filter((text) => text !== '')
    // A server echoes a command that it does not know, and AUTH is one.
    return { error: secrets.reduce((text, one) => text.replaceAll(one, '…'), message || code) }
  } finally {
    client.destroy()
  }
}
