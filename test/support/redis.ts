import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from 'redis'
import { program } from './programs.ts'
import { freePort, makeCertificate, startServer } from './server-process.ts'
import { tempFolder } from './stores.ts'
import { waitUntil } from './wait-until.ts'

export type TestRedis = Awaited<ReturnType<typeof openRedis>>
export type TestRedisCluster = Awaited<ReturnType<typeof openRedisCluster>>

interface RedisOptions {
  password?: string
  /** Makes `url` a rediss:// URL and disables the plain port; `certificate` is the one to verify the server with. */
  tls?: boolean
  cluster?: boolean
}

/** A private Redis on a free local port, in a temporary folder: Debian's program, without persistence. */
export async function openRedis({
  password = '',
  tls = false,
  cluster = false,
}: RedisOptions = {}) {
  const folder = tempFolder()
  const port = await freePort()
  if (tls) makeCertificate(folder.path, 'IP:127.0.0.1')
  const flags = [
    ...['--bind', '127.0.0.1', '--dir', folder.path, '--save', '', '--appendonly', 'no'],
    ...['--enable-debug-command', 'yes', '--repl-diskless-sync-delay', '0'],
    ...(tls ? tlsFlags(folder.path, port) : ['--port', `${port}`]),
    ...(password ? ['--requirepass', password] : []),
    ...(cluster ? await clusterFlags() : []),
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

/** Three masters, and a replica of the first without automatic failover. */
export async function openRedisCluster() {
  const open = () => openRedis({ cluster: true })
  const masters = await Promise.all([open(), open(), open()])
  const [first, second, third] = masters
  const replica = await open()
  if (!first || !second || !third) throw new Error('three were opened')
  const all = [...masters, replica]

  const shares = [
    [first, '0', '5460'],
    [second, '5461', '10922'],
    [third, '10923', '16383'],
  ] as const
  for (const [server, from, to] of shares) await server.run('CLUSTER', 'ADDSLOTSRANGE', from, to)
  // Two nodes with the same config epoch would resolve the conflict later, and stale slot maps could win until then.
  for (const [at, server] of all.entries()) {
    await server.run('CLUSTER', 'SET-CONFIG-EPOCH', `${at + 1}`)
  }
  for (const server of all.slice(1)) {
    await server.run('CLUSTER', 'MEET', '127.0.0.1', `${first.port}`, await busPort(first))
  }
  await waitUntil(async () =>
    (await Promise.all(all.map(knownNodes))).every((count) => count === 4),
  )
  const idOf = async (server: TestRedis) => String(await server.run('CLUSTER', 'MYID'))
  await replica.run('CLUSTER', 'REPLICATE', await idOf(first))
  await waitUntil(async () => (await Promise.all(all.map(isOk))).every(Boolean))
  await waitUntil(async () => String(await replica.run('INFO')).includes('master_link_status:up'))

  return {
    masters: [first, second, third] as const,
    replica,
    url: masters.map(({ url }) => url).join(),
    /** Moves an empty slot, like an operator who rebalances the cluster. */
    async moveSlot(slot: number, from: TestRedis, to: TestRedis) {
      const id = await idOf(to)
      await to.run('CLUSTER', 'SETSLOT', `${slot}`, 'NODE', id)
      await from.run('CLUSTER', 'SETSLOT', `${slot}`, 'NODE', id)
    },
    async close() {
      for (const server of all) await server.close()
    },
  }
}

async function isOk(server: TestRedis): Promise<boolean> {
  return String(await server.run('CLUSTER', 'INFO')).includes('cluster_state:ok')
}

async function knownNodes(server: TestRedis): Promise<number> {
  const nodes = String(await server.run('CLUSTER', 'NODES'))
    .trim()
    .split('\n')
  return nodes.filter((node) => !/handshake|noaddr/.test(node)).length
}

async function busPort(server: TestRedis): Promise<string> {
  return /@(\d+)/.exec(String(await server.run('CLUSTER', 'NODES')))?.[1] ?? ''
}

async function startRedis(folder: string, flags: string[]): Promise<ChildProcess> {
  const up = /Ready to accept connections/
  return await startServer({ command: [program('redis-server'), ...flags], folder, ready: up })
}

async function clusterFlags(): Promise<string[]> {
  const flags = { enabled: 'yes', port: `${await freePort()}`, 'node-timeout': '3000' }
  const more = { 'require-full-coverage': 'no', 'replica-no-failover': 'yes' }
  return Object.entries({ ...flags, ...more }).flatMap(([name, value]) => [
    `--cluster-${name}`,
    value,
  ])
}

function tlsFlags(path: string, port: number): string[] {
  const files = ['--tls-cert-file', join(path, 'tls.crt'), '--tls-key-file', join(path, 'tls.key')]
  const rest = ['--tls-ca-cert-file', join(path, 'tls.crt'), '--tls-auth-clients', 'no']
  return ['--port', '0', '--tls-port', `${port}`, ...files, ...rest]
}
