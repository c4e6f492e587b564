import type { RedisAccess, RedisServer } from './client.ts'
import { serverAt } from './slot-map.ts'

/** Where to begin, and what all servers are reached with: what the first of the URLs says. */
export function readUrl(text: string): {
  roots: [RedisServer, ...RedisServer[]]
  access: RedisAccess
} {
  const [first, ...rest] = text.split(',').map(parse)
  if (!first) throw new Error('no Redis is named')
  const { protocol, username, password, pathname } = first
  return {
    roots: [serverOf(first), ...rest.map(serverOf)],
    access: {
      tls: protocol === 'rediss:',
      username: decodeURIComponent(username) || undefined,
      password: decodeURIComponent(password) || undefined,
      database: Number(pathname.slice(1)) || 0,
    },
  }
}

function parse(url: string): URL {
  const parsed = URL.parse(url)
  // Without the text: it may hold a password.
  if (!parsed || !/^rediss?:$/.test(parsed.protocol)) throw new Error('not a redis:// URL')
  return parsed
}

function serverOf({ hostname, port }: URL): RedisServer {
  return serverAt(hostname.replace(/^\[(.*)\]$/, '$1'), Number(port) || 6379)
}
