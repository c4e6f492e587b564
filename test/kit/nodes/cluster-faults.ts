import { setTimeout as pause } from 'node:timers/promises'
import { DEFAULT_TIMING } from '../../../src/base/jobs/lease.ts'
import { waitUntil } from '../wait-until.ts'
import { CLOCK_CACHE_MS, type Cluster } from './cluster.ts'
import {
  DATABASES,
  type DatabaseName,
  ETCD,
  isNode,
  MACHINES,
  type MachineName,
  NODES,
  type NodeName,
} from './cluster-config.ts'
import { ignoreOutage } from './failed-starts.ts'
import type { History } from './history.ts'

export interface FaultDeps {
  cluster: Cluster
  history: History
  random(): number
  /** The root folder of an older version that may run beside this one. */
  older: string | undefined
}

/** Injects a fault and ends it. */
export type Fault = (deps: FaultDeps) => Promise<FaultResult>

export interface FaultResult {
  /** The machine, if there was one. */
  on: string
  /** What it did there, as measured; undefined if nothing: such a fault does not count. */
  effect: string | undefined
}

/** Chooses a machine; undefined if there is none at the moment. */
type Target<Name> = (deps: FaultDeps) => Promise<Name | undefined>
/** Returns the effect. */
type Inject<Name> = (deps: FaultDeps, name: Name) => Promise<string | undefined>

function fault<Name extends MachineName>(target: Target<Name>, inject: Inject<Name>): Fault {
  return async (deps) => {
    const name = await target(deps)
    if (name === undefined) return { on: 'no machine', effect: undefined }
    if (!deps.cluster.isUp(name)) return { on: name, effect: undefined }
    return { on: name, effect: await inject(deps, name) }
  }
}

const oneOf =
  <Name>(names: readonly Name[]): Target<Name> =>
  async (deps) =>
    pick(deps, names)

/** During a failover there is none for a while. */
const primary: Target<DatabaseName> = async ({ cluster }) => {
  for (let tries = 0; tries < 20; tries += 1) {
    const name = await cluster.primary()
    if (name) return name
    await pause(1_000)
  }
  return undefined
}

const standby: Target<DatabaseName> = async (deps) => {
  const name = await primary(deps)
  return name && otherThan(name)
}

const otherThan = (name: DatabaseName) => (name === 'postgres1' ? 'postgres2' : 'postgres1')

const node = oneOf(NODES)
const database = oneOf(DATABASES)
const member = oneOf(ETCD)
const redis = oneOf(['redis'] as const)
const haproxy = oneOf(['haproxy'] as const)

export const OLDER = 'node restarted with an older version'

/** Each by its kind. They may overlap. */
export const CLUSTER_FAULTS: Readonly<Record<string, Fault>> = {
  'node killed': fault(node, kill),
  'primary killed': fault(primary, kill),
  'standby killed': fault(standby, kill),
  'postmaster killed': fault(primary, killProcess('/[p]ostgres\\b')),
  'Patroni killed': fault(primary, killProcess('/[p]atroni\\b')),
  'etcd member killed': fault(member, kill),
  'Redis killed': fault(redis, kill),
  'HAProxy killed': fault(haproxy, kill),
  'node suspended': fault(node, suspend),
  'primary suspended': fault(primary, suspend),
  'standby suspended': fault(standby, suspend),
  'etcd member suspended': fault(member, suspend),
  'Redis suspended': fault(redis, suspend),
  'HAProxy suspended': fault(haproxy, suspend),
  'node cut off from PostgreSQL': fault(node, cut(['store'])),
  'node isolated': fault(node, cut()),
  'primary cut off from standby': fault(primary, cut(DATABASES)),
  'primary cut off from etcd': fault(primary, cut(ETCD)),
  'standby cut off from etcd': fault(standby, cut(ETCD)),
  'primary on the small side of etcd': fault(primary, split),
  'standby on the small side of etcd': fault(standby, split),
  'primary isolated': fault(primary, cut()),
  'etcd member isolated': fault(member, cut()),
  'Redis cut off': fault(redis, cut(NODES)),
  'one-way partition of a node': fault(node, cut(['store', 'redis', 'haproxy'], { oneWay: true })),
  'one-way partition of the primary': fault(primary, cut(undefined, { oneWay: true })),
  'lossy link of a node': fault(node, cut(undefined, { percent: 15 })),
  'lossy link of a PostgreSQL': fault(database, cut(undefined, { percent: 15 })),
  'slow link of a node': fault(node, throttle),
  'slow link of a PostgreSQL': fault(database, throttle),
  'delay between a node and PostgreSQL': fault(node, delay),
  'clock of a node moved': fault(node, (deps, name) => moveClock(deps, [name])),
  'clock of PostgreSQL moved': fault(primary, (deps) => moveClock(deps, DATABASES)),
  switchover: fault(primary, changePrimary('/switchover')),
  failover: fault(primary, changePrimary('/failover')),
  'Redis flushed': fault(redis, flush),
  [OLDER]: fault(node, downgrade),
}

function pick<T>({ random }: FaultDeps, of: readonly T[]): T {
  return of[Math.floor(random() * of.length)] as T
}

const between = ({ random }: FaultDeps, from: number, to: number) =>
  Math.round(from + random() * (to - from))

const aWhile = (deps: FaultDeps) => pause(between(deps, 4_000, 20_000))

const counted = (count: number, what: string) => (count > 0 ? `${count} ${what}` : undefined)

/** The whole machine; it is started again after a moment. */
async function kill(deps: FaultDeps, name: MachineName): Promise<string> {
  const { cluster } = deps
  cluster.machines[name].kill()
  await waitUntil(() => !cluster.isUp(name))
  await pause(between(deps, 100, 6_000))
  await cluster.start(name).catch(ignoreOutage)
  return 'killed'
}

/**
 * Patroni restarts the server; a moment later we start Patroni, while its server still runs. The patterns have brackets, so that
 * the shell does not match.
 */
function killProcess(pattern: string): Inject<DatabaseName> {
  return async (deps, name) => {
    const { cluster } = deps
    const command = `pgrep -o -f '${pattern}' && pkill -9 -o -f '${pattern}'`
    const pid = cluster.machines[name].run('sh', '-c', `${command} || :`).trim()
    if (pid === '') return undefined
    await aWhile(deps)
    await cluster.start(name)
    return `process ${pid} killed`
  }
}

const SUSPENDED_MS = 30_000

/** Recorded: until its end, it may overlook that it lost a lease. */
async function suspend({ cluster, history }: FaultDeps, name: MachineName) {
  const start = history.now()
  const resume = cluster.suspend(name)
  await pause(SUSPENDED_MS)
  const isResumed = resume()
  recordSuspension(history, name, start)
  return isResumed ? `stopped for ${SUSPENDED_MS} ms` : undefined
}

function recordSuspension({ record, now }: History, name: string, start: number, moreMs = 0) {
  const end = now() + moreMs
  const common = { client: 'fault', node: name, start, end, result: 'done' } as const
  record({ ...common, kind: 'suspend' })
}

/** `store` is what a node sees of PostgreSQL. */
type Peer = MachineName | 'store'

/** Drops packets between the machine and these others, by default all. */
function cut(from?: readonly Peer[], { oneWay = false, percent = 100 } = {}): Inject<MachineName> {
  return async (deps, name) => {
    const { machines } = deps.cluster
    const peers = addressesOf(deps, name, from ?? [...MACHINES, 'store'])
    const directions = oneWay ? [pick(deps, ['in', 'out'] as const)] : (['in', 'out'] as const)
    const end = machines[name].filter({ peers, directions, percent })
    await aWhile(deps)
    return counted(end(), `packets dropped (${directions.join(' and ')})`)
  }
}

function addressesOf({ cluster }: FaultDeps, name: MachineName, peers: readonly Peer[]): string[] {
  return peers.flatMap((peer) => {
    if (peer === 'store') return isNode(name) ? [cluster.proxies[name].host] : []
    return peer === name ? [] : [cluster.machines[peer].address]
  })
}

/** PostgreSQL and etcd fall apart into two sides; this server has one of the three members of etcd. */
async function split(deps: FaultDeps, name: DatabaseName): Promise<string | undefined> {
  const { machines } = deps.cluster
  const own = pick(deps, ETCD)
  const others = [otherThan(name), ...ETCD.filter((one) => one !== own)] as const
  const ends = [name, own].map((one) =>
    machines[one].filter({ peers: addressesOf(deps, one, others) }),
  )
  await aWhile(deps)
  const dropped = ends.map((end) => end())
  return counted(Math.min(...dropped), `packets dropped at least (${own})`)
}

async function throttle(deps: FaultDeps, name: MachineName): Promise<string | undefined> {
  const rate = `${between(deps, 64, 512)}kbit`
  const end = deps.cluster.machines[name].throttle(rate)
  await aWhile(deps)
  return counted(end(), `packets delayed (${rate})`)
}

async function delay(deps: FaultDeps, name: NodeName): Promise<string | undefined> {
  const ms = between(deps, 50, 1_500)
  const end = deps.cluster.proxies[name].delay(ms)
  await aWhile(deps)
  return counted(end(), `pieces delayed by ${ms} ms`)
}

const CLOCK_TOLERANCE_SECONDS = 2

/** Within and beyond the 30 s that a node may differ from PostgreSQL. */
async function moveClock(deps: FaultDeps, names: readonly (NodeName | DatabaseName)[]) {
  const { cluster, history } = deps
  const seconds =
    between(deps, 5, deps.random() < 0.5 ? 25 : 3_000) * (deps.random() < 0.5 ? 1 : -1)
  const start = history.now()
  for (const name of names) cluster.moveClock(name, seconds)
  await aWhile(deps)
  const offsets = await Promise.all(names.map(cluster.clockOffset))
  for (const name of names) cluster.moveClock(name, 0)
  // Leases are counted by the clock of PostgreSQL: until they renew them, the nodes believe in those that it ended early.
  if (names === DATABASES)
    for (const name of ['postgres', ...NODES])
      recordSuspension(history, name, start, CLOCK_CACHE_MS + DEFAULT_TIMING.renewMs)
  const isMoved = (offset = 0) => Math.abs(offset - seconds) <= CLOCK_TOLERANCE_SECONDS
  return offsets.some(isMoved) ? `moved by ${seconds} s` : undefined
}

const CHANGE_MS = 20_000

/** Patroni may refuse. */
function changePrimary(path: '/switchover' | '/failover'): Inject<DatabaseName> {
  return async ({ cluster }, name) => {
    const candidate = otherThan(name)
    const body = path === '/switchover' ? { leader: name, candidate } : { candidate }
    const response = await cluster.patroni(name, path, body)
    if (response && response.status !== 200) return undefined
    const isChanged = async () => (await cluster.primary()) === candidate
    return await waitUntil(isChanged, CHANGE_MS).then(
      () => `to ${candidate}`,
      () => undefined,
    )
  }
}

/** Another fault may have killed or suspended Redis. */
async function flush({ cluster }: FaultDeps): Promise<string | undefined> {
  const { run, address } = cluster.machines.redis
  const ask = (command: string) => run('timeout', '3', 'redis-cli', '-h', address, command).trim()
  try {
    const keys = Number(ask('DBSIZE'))
    return ask('FLUSHALL') === 'OK' ? counted(keys, 'keys deleted') : undefined
  } catch {
    return undefined
  }
}

async function downgrade(deps: FaultDeps, name: NodeName): Promise<string | undefined> {
  const { cluster, older } = deps
  if (older === undefined || !(await cluster.stopNode(name))) return undefined
  await cluster.startNode(name, older).catch(ignoreOutage)
  // Another fault may have started this version.
  const isOlder = cluster.isUp(name) && cluster.rootOf(name) === older
  await aWhile(deps)
  await cluster.stopNode(name)
  await cluster.startNode(name).catch(ignoreOutage)
  return isOlder ? 'older version' : undefined
}
