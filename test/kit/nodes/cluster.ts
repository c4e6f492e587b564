import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { ROOT, type ServiceProcess, spawnService } from '../app/service-process.ts'
import { openTcpProxy } from '../http/tcp-proxy.ts'
import { unprivilegedUser } from '../store/postgres.ts'
import { DISK, tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'
import {
  DATABASES,
  type DatabaseName,
  ETCD,
  haproxyFile,
  isDatabase,
  isNode,
  MACHINES,
  type MachineName,
  NODES,
  type NodeName,
  patroniConfig,
  postgresPrograms,
} from './cluster-config.ts'
import { type Machine, openNetwork } from './network.ts'

export type Cluster = Awaited<ReturnType<typeof openCluster>>

const PORTS = { http: 8080, smtp: 2525 }
const READY_MS = 120_000
// The loader replaces $LIB.
const FAKETIME = '/usr/$LIB/faketime/libfaketimeMT.so.1'

/**
 * Three nodes, PostgreSQL with a synchronous standby under Patroni and three members of etcd, Redis and HAProxy, each on a
 * machine of its own. HAProxy is also the address of the primary, for all nodes; node3 reaches it through a proxy of ours that
 * can delay what it forwards.
 */
export async function openCluster({ synchronous = true } = {}) {
  const folder = tempFolder(DISK)
  chmodSync(folder.path, 0o755)
  const network = await openNetwork(MACHINES)
  const { machines, host } = network
  const at = (name: MachineName) => machines[name].address
  const store = `postgres://mayfly@${at('haproxy')}:5432/mayfly`
  const proxy = await openTcpProxy(5432, { to: at('haproxy'), listen: host })
  const clocks = new Map<string, string>()
  const running = new Map<MachineName, ChildProcess>()
  const served = new Map<MachineName, ServiceProcess>()
  const output: string[] = []

  /**
   * The command line that runs a program whose clock can be moved. Not in the environment of what starts it: libfaketime has a
   * semaphore per process, which must belong to the user of the program.
   */
  function withClock(name: MachineName): string[] {
    const file = join(folder.path, `${name}.clock`)
    if (!clocks.has(name)) writeFileSync(file, '+0')
    clocks.set(name, file)
    const settings = ['FAKETIME_CACHE_DURATION=1', 'FAKETIME_DONT_FAKE_MONOTONIC=1']
    return ['env', `LD_PRELOAD=${FAKETIME}`, `FAKETIME_TIMESTAMP_FILE=${file}`, ...settings]
  }

  function run(name: MachineName, command: readonly string[]): void {
    const [file = '', ...args] = [...machines[name].under, ...command]
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const note = (chunk: Buffer) => {
      output.push(`${name}: ${chunk}`)
      if (output.length > 2_000) output.shift()
    }
    child.stdout.on('data', note)
    child.stderr.on('data', note)
    running.set(name, child)
  }

  const data = (name: MachineName) => {
    const path = join(folder.path, name)
    mkdirSync(path, { recursive: true })
    return path
  }

  function startEtcd(name: (typeof ETCD)[number]): void {
    const members = ETCD.map((one) => `${one}=http://${at(one)}:2380`).join()
    const client = `http://${at(name)}:2379`
    const peer = `http://${at(name)}:2380`
    run(name, [
      ...['etcd', '--name', name, '--data-dir', data(name), '--initial-cluster', members],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--enable-v2', '--log-level', 'error', '--logger', 'zap'],
    ])
  }

  function startDatabase(name: DatabaseName): void {
    const path = data(name)
    const user = unprivilegedUser()
    if (user) chownSync(path, user.uid, user.gid)
    const file = join(folder.path, `${name}.json`)
    // YAML is a superset of JSON.
    const hosts = ETCD.map((one) => `${at(one)}:2379`)
    const programs = postgresPrograms(`${path}-programs`, withClock(name))
    const config = patroniConfig({ name, path, address: at(name), hosts, programs, synchronous })
    writeFileSync(file, JSON.stringify(config))
    const as = user
      ? ['setpriv', '--reuid', `${user.uid}`, '--regid', `${user.gid}`, '--clear-groups']
      : []
    run(name, [...as, 'patroni', file])
  }

  async function startNode(name: NodeName, root = ROOT): Promise<void> {
    const env = {
      MAYFLY_STORE: name === 'node3' ? `postgres://mayfly@${host}:${proxy.port}/mayfly` : store,
      MAYFLY_REDIS: `redis://${at('redis')}:6379`,
      MAYFLY_SMTP_PROXY_FROM: at('haproxy'),
      MAYFLY_TRUST_PROXY: at('haproxy'),
      MAYFLY_RATE_LIMITS: 'off',
      MAYFLY_SMTP_RELAYS: host,
      MAYFLY_WEBHOOK_ALLOW: host,
      MAYFLY_WEBHOOK_RETRIES: '1s,2s',
      MAYFLY_DRAIN: '2s',
    }
    const under = [...machines[name].under, 'env', '-C', root, ...withClock(name)]
    const options = { folder: data(name), ports: PORTS, host: at(name), env, under, root }
    const node = await spawnService(options).catch((error: Error) => {
      // One that is only slow would be in the way of the next.
      machines[name].kill()
      throw error
    })
    served.set(name, node)
    running.set(name, node.child)
  }

  async function start(name: MachineName): Promise<void> {
    if (isNode(name)) await startNode(name)
    else if (isDatabase(name)) startDatabase(name)
    else if (name === 'redis')
      run(name, ['redis-server', '--bind', at(name), '--protected-mode', 'no', '--save', ''])
    else if (name === 'haproxy') run(name, ['haproxy', '-db', '-f', haproxyFile(folder.path, at)])
    else startEtcd(name)
  }

  const isUp = (name: MachineName) => {
    const child = running.get(name)
    return child !== undefined && child.exitCode === null && child.signalCode === null
  }

  async function query(
    sql: string,
    { database = 'mayfly', timeoutMs = 3_000 } = {},
  ): Promise<Record<string, unknown>[]> {
    const client = new Client({
      ...{ host: at('haproxy'), user: 'mayfly', database },
      ...{ connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs },
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query(sql)).rows
    } finally {
      client.end().catch(() => {})
    }
  }

  /** A request to Patroni; undefined without a response. */
  async function patroni(name: DatabaseName, path: string, body?: object) {
    return await fetch(`http://${at(name)}:8008${path}`, {
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(body ? 20_000 : 2_000),
    }).catch(() => undefined)
  }

  async function primary(): Promise<DatabaseName | undefined> {
    for (const name of DATABASES) if ((await patroni(name, '/primary'))?.status === 200) return name
    return undefined
  }

  const urlOf = (name: NodeName | 'haproxy') =>
    `http://${at(name)}:${name === 'haproxy' ? 80 : PORTS.http}`

  async function isReady(name: NodeName | 'haproxy'): Promise<boolean> {
    const signal = AbortSignal.timeout(5_000)
    const response = await fetch(`${urlOf(name)}/readyz`, { signal }).catch(() => undefined)
    await response?.text().catch(() => {})
    return response?.status === 200
  }

  /** Starts what does not run, and waits until every node is ready and the standby is synchronous. */
  async function recover(): Promise<void> {
    for (const name of MACHINES) if (!isNode(name) && !isUp(name)) await start(name)
    await untilReplicated()
    await Promise.all(
      NODES.map(async (name) => {
        await waitUntil(async () => {
          if (!isUp(name)) await startNode(name).catch(ignoreOutage)
          return await isReady(name)
        }, READY_MS)
      }),
    )
    await waitUntil(() => isReady('haproxy'), READY_MS)
  }

  /** Until then nothing is committed. */
  async function untilReplicated(): Promise<void> {
    const state = synchronous ? 'sync' : 'async'
    const standby = `select from pg_stat_replication where sync_state = '${state}'`
    await waitUntil(async () => {
      return (await query(standby, { database: 'postgres' }).catch(() => [])).length > 0
    }, READY_MS)
  }

  async function open(): Promise<void> {
    for (const name of [...ETCD, 'redis', 'haproxy', ...DATABASES] as const) await start(name)
    await untilReplicated()
    await query('create database mayfly', { database: 'postgres', timeoutMs: READY_MS })
    await recover()
  }

  process.once('exit', folder.remove)
  async function close(): Promise<void> {
    await network.close()
    proxy.close()
    folder.remove()
    process.off('exit', folder.remove)
  }

  try {
    await open()
  } catch (error) {
    const said = output.slice(-60).join('')
    await close()
    throw new Error(`the cluster did not start:\n${said}`, { cause: error })
  }
  return {
    folder: folder.path,
    host,
    store,
    machines: machines as Record<MachineName, Machine>,
    proxy,
    url: urlOf,
    smtp: (name: NodeName | 'haproxy') => ({
      host: at(name),
      port: name === 'haproxy' ? 25 : PORTS.smtp,
    }),
    start,
    startNode,
    /** Ends a node as a supervisor does. */
    async stopNode(name: NodeName): Promise<void> {
      const node = served.get(name)
      if (!node || !isUp(name)) return
      const ended = once(node.child, 'exit')
      machines[name].run('pkill', '-TERM', '-o', '-f', 'mayfly.js serve')
      await ended
    },
    /** Stops all processes of a machine; returns how to resume them. */
    suspend(name: MachineName): () => void {
      machines[name].signal('STOP')
      return () => {
        machines[name].signal('CONT')
        // nsenter stops with the program that it runs.
        running.get(name)?.kill('SIGCONT')
      }
    },
    query,
    patroni,
    primary,
    recover,
    /** Moves the clock of a machine by so many seconds from the real time. */
    moveClock(name: NodeName | DatabaseName, seconds: number): void {
      const file = clocks.get(name) ?? ''
      // At once: a process that finds it empty ends.
      writeFileSync(`${file}.new`, seconds < 0 ? `${seconds}` : `+${seconds}`)
      renameSync(`${file}.new`, file)
    },
    /** The end of what its servers, without the nodes, have printed. */
    output: () => output.join(''),
    nodeOutput: (name: NodeName) => served.get(name)?.output() ?? '',
    close,
  }
}

function ignoreOutage(fault: Error): void {
  if (!/PostgreSQL|[Ss]tore is unavailable|is not up after/.test(fault.message)) throw fault
}
