import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from 'redis'
import { program } from '../programs/programs.ts'
import { freePort, makeCertificate, startServer } from '../programs/server-process.ts'
import { tempFolder } from '../store/stores.ts'

export type TestRedis = Awaited<ReturnType<typeof openRedis>>

interface RedisOptions {
  password?: string
  /** Makes `url` a rediss:// URL and disables the plain port; `certificate` is the one to verify the server with. */
  tls?: boolean
}

/** A private Redis on a free local port, in a temporary folder: Debian's program, without persistence. */
export async function openRedis({ password = '', tls = false }: RedisOptions = {}) {
  const folder = tempFolder()
  const port = await freePort()
  if (tls) makeCertificate(folder.path, 'IP:127.0.0.1')
  const flags = [
    ...['--bind', '127.0.0.1', '--dir', folder.path, '--save', '', '--appendonly', 'no'],
    ...['--enable-debug-command', 'yes'],
    ...(tls ? tlsFlags(folder.path, port) : ['--port', `${port}`]),
    ...(password ? ['--requirepass', password] : []),
  ]
  let server = await startRedis(folder.path, flags)
  const login = password ? `:${encodeURIComponent(password)}@` : ''

  return {
    port,
    url: `${tls ? 'rediss' : 'redis'}://${login}127.0.0.1:${port}`,
    certificate: () => readFileSync(join(folder.path, 'tls.crt'), 'utf8'),
    /** Runs one command over a new connection. */
    async run(...command: string[]): Promise<unknown> {
      const socket = { host: '127.0.0.1', port, reconnectStrategy: false } as const
      const client = createClient({ socket, ...(password && { password }) })
      client.on('error', () => {})
      await client.connect()
      try {
        return await client.sendCommand(command)
      } finally {
        client.destroy()
      }
    },
    /** Kills it, as if the machine had failed; all data is lost. */
    async stop() {
      const exit = once(server, 'exit')
      server.kill('SIGKILL')
      await exit
    },
    /** Restarts it on the same port. */
    async start() {
      server = await startRedis(folder.path, flags)
    },
    /** Suspends it; its connections stay open. */
    freeze: () => server.kill('SIGSTOP'),
    unfreeze: () => server.kill('SIGCONT'),
    async close() {
      if (server.exitCode === null && server.signalCode === null) await this.stop()
      folder.remove()
    },
  }
}

async function startRedis(folder: string, flags: string[]): Promise<ChildProcess> {
  const up = /Ready to accept connections/
  return await startServer({ command: [program('redis-server'), ...flags], folder, ready: up })
}

function tlsFlags(path: string, port: number): string[] {
  const files = ['--tls-cert-file', join(path, 'tls.crt'), '--tls-key-file', join(path, 'tls.key')]
  const rest = ['--tls-ca-cert-file', join(path, 'tls.crt'), '--tls-auth-clients', 'no']
  return ['--port', '0', '--tls-port', `${port}`, ...files, ...rest]
}
