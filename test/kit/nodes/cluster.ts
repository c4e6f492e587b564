import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
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
import { inspectCluster, PORTS } from './cluster-state.ts'
import { type FailedStart, ignoreOutage } from './failed-starts.ts'
import { openNetwork } from './network.ts'

export type Cluster = Awaited<ReturnType<typeof openCluster>>

const READY_MS = 120_000
/** While it is suspended or its links are slow, too. */
const STOP_MS = 180_000
/** How soon a program sees that its clock was moved. */
export const CLOCK_CACHE_MS = 1_000
/** Signals that only the program itself can cause, for example when V8 runs out of memory. */
const ABORTS = new Set(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP'])
// The loader replaces $LIB.
const FAKETIME = '/usr/$LIB/faketime/libfaketimeMT.so.1'

/**
 * Three nodes, PostgreSQL with a synchronous standby under Patroni and three members of etcd, Redis and HAProxy, each on a
 * machine of its own. HAProxy is also the address of the primary; each node reaches it through a proxy of its own, which can
 * delay what it forwards, at an address of its own, so that a node can be cut off from PostgreSQL alone.
 */
export async function openCluster({ synchronous = true } = {}) {
  const network = await openNetwork(MACHINES)
  const folder = tempFolder(DISK)
  chmodSync(folder.path, 0o755)
  const { machines, host } = network
  const at = (name: MachineName) => machines[name].address
  const store = `postgres://mayfly@${at('haproxy')}:5432/mayfly`
  const openProxy = () => openTcpProxy(5432, { to: at('haproxy'), listen: network.addAddress() })
  const proxies = {
    node1: await openProxy(),
    node2: await openProxy(),
    node3: await openProxy(),
  } satisfies Record<NodeName, unknown>
  const { query, patroni, primary, clockOffset, urlOf, isReady } = inspectCluster(at)
  const clocks = new Map<string, string>()
  const running = new Map<MachineName, ChildProcess>()
  const starting = new Map<NodeName, Promise<void>>()
  const services: ServiceProcess[] = []
  const output: string[] = []
  const crashes: string[] = []
  const failedStarts: FailedStart[] = []

  /**
   * The command line that runs a program whose clock can be moved. Not in the environment of what starts it: libfaketime has a
   * semaphore per process, which must belong to the user of the program.
   */
  function withClock(name: MachineName): string[] {
    const file = join(folder.path, `${name}.clock`)
    if (!clocks.has(name)) writeFileSync(file, '+0')
    clocks.set(name, file)
    const settings = [
      `FAKETIME_CACHE_DURATION=${CLOCK_CACHE_MS / 1_000}`,
      'FAKETIME_DONT_FAKE_MONOTONIC=1',
    ]
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

  /** Does nothing if it is up, and waits if it is being started: faults may overlap. */
  async function startNode(name: NodeName, root = ROOT): Promise<void> {
    if (isUp(name)) return
    const begun = starting.get(name) ?? spawnNode(name, root).finally(() => starting.delete(name))
    starting.set(name, begun)
    await begun
  }

  async function spawnNode(name: NodeName, root: string): Promise<void> {
    const proxy = proxies[name]
    const env = {
      MAYFLY_STORE: `postgres://mayfly@${proxy.host}:${proxy.port}/mayfly`,
      MAYFLY_REDIS: `redis://${at('redis')}:6379`,
      MAYFLY_SMTP_PROXY_FROM: at('haproxy'),
      // The clients that this process speaks for are counted one by one.
      MAYFLY_TRUST_PROXY: `${at('haproxy')},${host}`,
      MAYFLY_SMTP_RELAYS: host,
      MAYFLY_WEBHOOK_ALLOW: host,
      MAYFLY_WEBHOOK_RETRIES: '1s,2s',
      MAYFLY_DRAIN: '2s',
    }
    const under = [...machines[name].under, 'env', '-C', root, ...withClock(name)]
    const options = { folder: data(name), ports: PORTS, host: at(name), env, under, root }
    const start = performance.now()
    const node = await spawnService(options).catch((error: Error) => {
      // One that is only slow would be in the way of the next.
      machines[name].kill()
      output.push(`${name}: ${error.message}`)
      failedStarts.push({ name, start, end: performance.now(), message: error.message })
      throw error
    })
    services.push(node)
    running.set(name, node.child)
    void node.exited.then((status) => {
      const { signalCode } = node.child
      if (status) crashes.push(`${name} exited with status ${status}`)
      else if (signalCode && ABORTS.has(signalCode)) crashes.push(`${name} ended by ${signalCode}`)
    })
  }

  /** Does nothing if it is up. */
  async function start(name: MachineName): Promise<void> {
    if (isNode(name)) await startNode(name)
    else if (isUp(name)) return
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

  /** Starts what does not run, and waits until every node is ready and the standby is synchronous. */
  async function recover(): Promise<void> {
    for (const name of MACHINES) if (!isNode(name)) await start(name)
    await untilReplicated()
    await Promise.all(
      NODES.map(async (name) => {
        await waitUntil(async () => {
          await start(name).catch(ignoreOutage)
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
    for (const proxy of Object.values(proxies)) proxy.close()
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
    machines,
    /** Between each node and PostgreSQL. */
    proxies,
    url: urlOf,
    smtp: (name: NodeName | 'haproxy') => ({
      host: at(name),
      port: name === 'haproxy' ? 25 : PORTS.smtp,
    }),
    isUp,
    start,
    startNode,
    /** Ends a node as a supervisor does; false if it was not up. */
    async stopNode(name: NodeName): Promise<boolean> {
      const child = running.get(name)
      if (!child || !isUp(name)) return false
      const ended = once(child, 'exit').then(() => true)
      // Brackets: otherwise the shell would match. It may have ended meanwhile.
      machines[name].run('sh', '-c', "pkill -TERM -o -f '[m]ayfly.js serve' || :")
      const isEnded = await Promise.race([ended, pause(STOP_MS, false, { ref: false })])
      if (!isEnded) {
        crashes.push(`${name} did not stop within ${STOP_MS} ms after SIGTERM`)
        machines[name].kill()
      }
      return true
    },
    /** The root folder of the version that runs. */
    rootOf(name: NodeName): string {
      const main = "$(pgrep -o -f '[m]ayfly.js serve')"
      return machines[name].run('sh', '-c', `readlink /proc/${main}/cwd || :`).trim()
    },
    /** Stops all processes of a machine; returns how to resume them, and whether there was anything to resume. */
    suspend(name: MachineName): () => boolean {
      machines[name].signal('STOP')
      return () => {
        const isStopped = machines[name].isStopped()
        machines[name].signal('CONT')
        // nsenter stops with the program that it runs.
        running.get(name)?.kill('SIGCONT')
        return isStopped
      }
    },
    query,
    patroni,
    primary,
    recover,
    clockOffset,
    /** Moves the clock of a machine by so many seconds from the real time. */
    moveClock(name: NodeName | DatabaseName, seconds: number): void {
      const file = clocks.get(name) ?? ''
      // At once: a process that finds it empty ends.
      writeFileSync(`${file}.new`, seconds < 0 ? `${seconds}` : `+${seconds}`)
      renameSync(`${file}.new`, file)
    },
    /** The end of what its servers, without the nodes, have printed. */
    output: () => output.join(''),
    /** Everything that its nodes have printed, also those that did not start. */
    nodeOutput: () =>
      [
        ...services.map((service) => service.output()),
        ...failedStarts.map(({ message }) => message),
      ].join('\n'),
    failedStarts,
    /** Nodes that ended with a status other than 0, by a signal of their own making, or not at all. */
    crashes,
    close,
  }
}
