import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import {
  DATABASES,
  type DatabaseName,
  ETCD,
  type MachineName,
  NODES,
  type NodeName,
} from './cluster-config.ts'
import type { History } from './history.ts'

export interface FaultDeps {
  cluster: Cluster
  history: History
  random(): number
  /** The root folder of an older version that may run beside this one. */
  older: string | undefined
}

/** Injects the fault and ends it. Returns what it was, in words. */
type Inject = (deps: FaultDeps) => Promise<string>

const SUSPENDED_MS = 30_000

/** Each by its kind. They may overlap. */
export const CLUSTER_FAULTS: Readonly<Record<string, Inject>> = {
  'node killed': (deps) => kill(deps, pick(deps, NODES)),
  'primary killed': async (deps) => kill(deps, await primaryOf(deps)),
  'standby killed': async (deps) => kill(deps, standbyTo(await primaryOf(deps))),
  'postmaster killed': async (deps) => killProcess(deps, await primaryOf(deps), 'postgres'),
  'Patroni killed': async (deps) => killProcess(deps, await primaryOf(deps), 'patroni'),
  'etcd member killed': (deps) => kill(deps, pick(deps, ETCD)),
  'Redis killed': (deps) => kill(deps, 'redis'),
  'HAProxy killed': (deps) => kill(deps, 'haproxy'),
  'node suspended': (deps) => suspend(deps, pick(deps, NODES)),
  'primary suspended': async (deps) => suspend(deps, await primaryOf(deps)),
  'standby suspended': async (deps) => suspend(deps, standbyTo(await primaryOf(deps))),
  'other suspended': (deps) => suspend(deps, pick(deps, [...ETCD, 'redis', 'haproxy'])),
  'node cut off from PostgreSQL': (deps) => part(deps, pick(deps, NODES), ['haproxy']),
  'node isolated': (deps) => part(deps, pick(deps, NODES), everybody(deps)),
  'primary cut off from standby': async (deps) => {
    const primary = await primaryOf(deps)
    return await part(deps, primary, [standbyTo(primary)])
  },
  'primary cut off from etcd': async (deps) => part(deps, await primaryOf(deps), ETCD),
  'standby cut off from etcd': async (deps) => part(deps, standbyTo(await primaryOf(deps)), ETCD),
  'primary isolated': async (deps) => part(deps, await primaryOf(deps), everybody(deps)),
  'etcd member isolated': (deps) => part(deps, pick(deps, ETCD), ETCD),
  'one-way partition of a node': (deps) =>
    part(deps, pick(deps, NODES), ['haproxy', 'redis'], { directions: [pick(deps, WAYS)] }),
  'one-way partition of the primary': async (deps) =>
    part(deps, await primaryOf(deps), everybody(deps), { directions: [pick(deps, WAYS)] }),
  'lossy link of a node': (deps) => part(deps, pick(deps, NODES), everybody(deps), LOSS),
  'lossy link of a PostgreSQL': (deps) => part(deps, pick(deps, DATABASES), everybody(deps), LOSS),
  'slow link of a node': (deps) => throttle(deps, pick(deps, NODES)),
  'slow link of a PostgreSQL': (deps) => throttle(deps, pick(deps, DATABASES)),
  'delay between a node and PostgreSQL': async (deps) => {
    const ms = between(deps, 50, 1_500)
    deps.cluster.proxy.delay(ms)
    await aWhile(deps)
    deps.cluster.proxy.delay(0)
    return `${ms} ms`
  },
  'clock of a node moved': (deps) => moveClock(deps, [pick(deps, NODES)]),
  'clock of PostgreSQL moved': (deps) => moveClock(deps, DATABASES),
  switchover: (deps) => changePrimary(deps, '/switchover'),
  failover: (deps) => changePrimary(deps, '/failover'),
  'Redis flushed': async ({ cluster }) => {
    const { machines } = cluster
    machines.redis.run('redis-cli', '-h', machines.redis.address, 'FLUSHALL')
    return 'once'
  },
  'Redis cut off': (deps) => part(deps, 'redis', NODES),
  'node restarted with an older version': (deps) => downgrade(deps, pick(deps, NODES)),
}

const WAYS = ['in', 'out'] as const
const LOSS = { percent: 15 }

function pick<T>({ random }: FaultDeps, of: readonly T[]): T {
  return of[Math.floor(random() * of.length)] as T
}

const between = ({ random }: FaultDeps, from: number, to: number) =>
  Math.round(from + random() * (to - from))

const aWhile = (deps: FaultDeps) => pause(between(deps, 4_000, 20_000))

/** During a failover there is none for a while. */
async function primaryOf({ cluster }: FaultDeps): Promise<DatabaseName> {
  for (let tries = 0; tries < 20; tries += 1) {
    const name = await cluster.primary()
    if (name) return name
    await pause(1_000)
  }
  return DATABASES[0]
}

const standbyTo = (primary: DatabaseName) =>
  DATABASES.find((name) => name !== primary) ?? DATABASES[0]

function everybody({ cluster }: FaultDeps): MachineName[] {
  return Object.keys(cluster.machines) as MachineName[]
}

/** The whole machine; it is started again after a moment. */
async function kill(deps: FaultDeps, name: MachineName): Promise<string> {
  deps.cluster.machines[name].kill()
  await pause(between(deps, 100, 6_000))
  await deps.cluster.start(name).catch(() => {})
  return name
}

/** Patroni restarts the server; a moment later we start Patroni, while its server still runs. */
async function killProcess(deps: FaultDeps, name: DatabaseName, program: 'postgres' | 'patroni') {
  try {
    deps.cluster.machines[name].run('pkill', '-9', '-o', '-f', `/${program}\\b`)
  } catch {
    // It does not run.
  }
  await aWhile(deps)
  if (program === 'patroni') await deps.cluster.start(name)
  return name
}

/** Recorded: until its end, it may overlook that it lost a lease. */
async function suspend({ cluster, history }: FaultDeps, name: MachineName): Promise<string> {
  const start = history.now()
  const resume = cluster.suspend(name)
  await pause(SUSPENDED_MS)
  resume()
  const common = { client: 'fault', node: name, start, end: history.now(), result: 'done' } as const
  history.record({ ...common, kind: 'suspend' })
  return name
}

interface Cut {
  directions?: readonly ('in' | 'out')[]
  percent?: number
}

async function part(
  deps: FaultDeps,
  name: MachineName,
  from: readonly MachineName[],
  options: Cut = {},
): Promise<string> {
  const { machines } = deps.cluster
  const peers = from.filter((one) => one !== name).map((one) => machines[one].address)
  const end = machines[name].filter({ peers, ...options })
  await aWhile(deps)
  end()
  return `${name} ${options.directions ?? ''}`.trim()
}

async function throttle(deps: FaultDeps, name: MachineName): Promise<string> {
  const rate = `${between(deps, 64, 512)}kbit`
  const end = deps.cluster.machines[name].throttle(rate)
  await aWhile(deps)
  end()
  return `${name} ${rate}`
}

/** Within and beyond the 30 s that a node may differ from PostgreSQL. */
async function moveClock(deps: FaultDeps, names: readonly (NodeName | DatabaseName)[]) {
  const { cluster, history } = deps
  const seconds =
    between(deps, 3, deps.random() < 0.5 ? 25 : 3_000) * (deps.random() < 0.5 ? 1 : -1)
  const start = history.now()
  for (const name of names) cluster.moveClock(name, seconds)
  await aWhile(deps)
  for (const name of names) cluster.moveClock(name, 0)
  // Leases are counted by the clock of PostgreSQL: the nodes believe in those that it ended early.
  for (const node of [...names, ...(names === DATABASES ? ['postgres', ...NODES] : [])])
    history.record({
      ...{ client: 'fault', node, start, end: history.now(), result: 'done' },
      kind: 'suspend',
    })
  return `${names} by ${seconds} s`
}

async function changePrimary(deps: FaultDeps, path: '/switchover' | '/failover') {
  const primary = await primaryOf(deps)
  const candidate = standbyTo(primary)
  const body = path === '/switchover' ? { leader: primary, candidate } : { candidate }
  const response = await deps.cluster.patroni(primary, path, body)
  return `${primary} to ${candidate}: ${response?.status ?? 'no response'}`
}

async function downgrade(deps: FaultDeps, name: NodeName): Promise<string> {
  const { cluster, older } = deps
  await cluster.stopNode(name)
  await cluster.startNode(name, older).catch(() => {})
  await aWhile(deps)
  await cluster.stopNode(name)
  await cluster.startNode(name).catch(() => {})
  return name
}
