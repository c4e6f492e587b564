import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { issueKey, UNLIMITED, unlimitedPlan } from '../../../bench/tools/keys.ts'
import { proxiedClient, TRUST_LOOPBACK } from '../../../bench/tools/proxied-client.ts'
import { percentile } from '../../../bench/tools/report.ts'
import {
  growthOf,
  MAX_GROWTH,
  memoryMb,
  type Sample,
  type SoakTarget,
  soak,
} from '../../../bench/tools/soak.ts'
import { startLoad, type Taken } from '../../../bench/tools/soak-load.ts'
import {
  freeServicePorts,
  ROOT,
  type ServiceProcess,
  spawnService,
} from '../../kit/app/service-process.ts'
import { createSession } from '../../kit/http/api-client.ts'
import { openHaproxy } from '../../kit/http/haproxy.ts'
import {
  buildRelease,
  canRunBesideLastRelease,
  lastRelease,
} from '../../kit/programs/last-release.ts'
import { endWithParent } from '../../kit/programs/server-process.ts'
import { openRedis } from '../../kit/redis/redis.ts'
import { connectSmtp } from '../../kit/smtp/smtp-client.ts'
import { ACKNOWLEDGED, ledgerFaults, openLedger } from '../../kit/store/ledger.ts'
import { openPostgres } from '../../kit/store/postgres.ts'
import { tempFolder } from '../../kit/store/stores.ts'
import type { Batch, BatchOrder, Part } from '../part.ts'

// Hours of a moderate mix of everything. It starts on the last release, which is upgraded under load; memory, descriptors and
// latencies of this version must be level, and every mail must be accepted once and stored once.

const RELEASE_SHARE = 1 / 3
const BOXES = 40
const MAX_LISTED = 10
const ENV = {
  ...TRUST_LOOPBACK,
  MAYFLY_RATE_LIMITS: 'off',
  MAYFLY_LOG_LEVEL: 'warn',
  MAYFLY_POOL_TTL: '5m',
}

interface Installation {
  target: SoakTarget
  client: Parameters<typeof startLoad>[0]['client']
  url: string
  /** For commands of the operator. */
  env: Record<string, string>
  /** From the last release to this version. */
  upgrade(): Promise<void>
  /** Everything printed. */
  output(): string
  close(): Promise<void>
}

interface OpenOptions {
  folder: string
  release: string
  env: Record<string, string>
}

export const soakSqlite = soakPart('soak-sqlite', openOne)
export const soakNodes = soakPart('soak-nodes', openThree)

function soakPart(name: string, open: (options: OpenOptions) => Promise<Installation>): Part {
  const minutes = 120
  return {
    name,
    unit: 'minutes',
    goal: minutes,
    quickGoal: 0.5,
    // A soak cannot be divided.
    batch: minutes,
    problem: () => (lastRelease() ? undefined : 'the last release is not in the git history'),
    run: (order) => runSoak(open, order),
  }
}

async function runSoak(
  open: (options: OpenOptions) => Promise<Installation>,
  { count, report }: BatchOrder,
): Promise<Batch> {
  const folder = tempFolder()
  const release = buildRelease(lastRelease()?.commit ?? '')
  const plan = unlimitedPlan(folder.path)
  const options = { folder: folder.path, release: release.root, env: { ...ENV, ...plan } }
  const installation = await open(options)
  try {
    const { target, client, url } = installation
    const key = issueKey(UNLIMITED, { ...plan, ...installation.env }, release.root)
    const ledger = openLedger(join(folder.path, 'ledger'))
    const boxes = await Promise.all(Array.from({ length: BOXES }, () => createSession(url)))
    const load = startLoad({ client, key, recorded: { ledger, boxes } })
    const sampleSeconds = count < 10 ? 5 : 60
    const onSample = (sample: Sample) =>
      report(`minute ${sample.minute.toFixed(1)}, ${Math.round(memoryMb(sample))} MB`)
    const soaking = { sampleSeconds, onSample }
    const before = await soak(target, load, { minutes: count * RELEASE_SHARE, ...soaking })
    await installation.upgrade()
    const during = load.take()
    const after = await soak(target, load, { minutes: count * (1 - RELEASE_SHARE), ...soaking })
    await load.stop()
    const lines = ledger.read()
    ledger.close()
    const all = [...before, during, ...after, load.take()]
    const lost = await ledgerFaults(url, boxes, lines)
    return {
      done: count,
      counts: {
        mails: sum(all, ({ mails }) => mails),
        [ACKNOWLEDGED]: lines.length,
        polls: sum(all, ({ pollsMs }) => pollsMs.length),
        'retries during the upgrade': during.retries,
      },
      figures: figuresOf(after),
      findings: [
        ...failures('before the upgrade', before),
        ...failures('during the upgrade', [during]),
        ...failures('after the upgrade', after),
        ...lost.slice(0, MAX_LISTED),
        ...(lost.length > MAX_LISTED ? [`${lost.length} such mails in all`] : []),
        ...growthFindings(after),
        ...loggedErrors(installation.output()),
      ],
    }
  } finally {
    await installation.close()
    release.remove()
    folder.remove()
  }
}

const sum = (all: readonly Taken[], read: (taken: Taken) => number) =>
  all.reduce((total, taken) => total + read(taken), 0)

function failures(when: string, all: readonly Taken[]): string[] {
  const count = sum(all, ({ failed }) => failed)
  const errors = new Set(all.flatMap((taken) => taken.errors))
  return count === 0 ? [] : [`${count} operations failed ${when}: ${[...errors].join('; ')}`]
}

function figuresOf(after: readonly Sample[]): Record<string, number> {
  const last = after.at(-1)
  if (!last) return {}
  const growths = Object.entries(growthOf(after)).map(([name, grown]) => [`growth, ${name}`, grown])
  return {
    'MB at the end': memoryMb(last),
    descriptors: last.descriptors,
    'MB of data': last.dataMb,
    'most MB of WAL': Math.max(...after.map(({ walMb }) => walMb)),
    'poll p99 ms': percentile(
      after.flatMap(({ pollsMs }) => pollsMs),
      0.99,
    ),
    '250 p99 ms': percentile(
      after.flatMap(({ acceptedMs }) => acceptedMs),
      0.99,
    ),
    ...Object.fromEntries(growths),
  }
}

function growthFindings(after: readonly Sample[]): string[] {
  return Object.entries(growthOf(after)).flatMap(([name, grown]) =>
    grown > MAX_GROWTH ? [`${name}: grew to ${grown.toFixed(2)} of its value after warm-up`] : [],
  )
}

function loggedErrors(output: string): string[] {
  const [first, ...more] = output.split('\n').filter((line) => line.includes('"level":"error"'))
  return first === undefined ? [] : [`${more.length + 1} errors in the log, the first: ${first}`]
}

/** One service on SQLite, without a proxy. */
async function openOne({ folder, release, env }: OpenOptions): Promise<Installation> {
  const data = join(folder, 'data')
  const node = await openNode(data, env, release)
  return {
    target: { pids: () => [node.pid()], dataFolder: data, wal: /-wal$/ },
    client: proxiedClient('192.0.2.1', node),
    url: node.url,
    env: { MAYFLY_DATA: data },
    async upgrade() {
      await node.stop()
      await node.start()
    },
    output: node.output,
    close: node.kill,
  }
}

/** Three nodes behind HAProxy. */
async function openThree({ folder, release, env }: OpenOptions): Promise<Installation> {
  const postgres = await openPostgres({ settings: ['shared_buffers=256MB', 'max_wal_size=1GB'] })
  const redis = await openRedis()
  const store = {
    MAYFLY_STORE: postgres.urlOf(await postgres.database()),
    MAYFLY_REDIS: redis.url,
  }
  const settings = { ...env, ...store, MAYFLY_DRAIN: '4s' }
  const open = (name: string) => openNode(join(folder, name), settings, release)
  const [node1, node2, node3] = await Promise.all([open('node1'), open('node2'), open('node3')])
  const nodes = [node1, node2, node3]
  const haproxy = await openHaproxy({ node1, node2, node3 })
  const haveState = (state: string, numbers = [1, 2, 3]) =>
    haproxy.waitForStates(
      Object.fromEntries(numbers.map((number) => [`http_nodes/node${number}`, state])),
    )
  await haveState('UP')
  const port = Number(new URL(haproxy.url).port)
  return {
    target: {
      pids: () => nodes.map(({ pid }) => pid()),
      dataFolder: join(postgres.path, 'cluster'),
      wal: /^pg_wal\//,
    },
    client: {
      ...proxiedClient('192.0.2.1', { httpPort: port, smtpPort: haproxy.smtpPort }),
      // HAProxy adds its own PROXY header.
      smtp: () => connectSmtp(haproxy.smtpPort),
    },
    url: haproxy.url,
    env: { ...store, MAYFLY_DATA: folder },
    async upgrade() {
      if (!canRunBesideLastRelease()) {
        await Promise.all(nodes.map(({ stop }) => stop()))
        await Promise.all(nodes.map(({ start }) => start()))
        await haveState('UP')
      }
      for (const [at, node] of nodes.entries()) {
        await node.stop()
        await haveState('DOWN', [at + 1])
        await node.start()
        await haveState('UP')
      }
    },
    output: () => nodes.map((node) => node.output()).join(''),
    async close() {
      await haproxy.close()
      await Promise.all(nodes.map(({ kill }) => kill()))
      await redis.close()
      await postgres.close()
    },
  }
}

/** A node of the last release, and of this version from its next start on. */
async function openNode(folder: string, env: Record<string, string>, release: string) {
  mkdirSync(folder)
  const ports = await freeServicePorts()
  const under = endWithParent([])
  const started: ServiceProcess[] = []
  const spawn = async (root: string) => {
    started.push(await spawnService({ folder, ports, env, root, under }))
  }
  await spawn(release)
  const current = () => {
    const service = started.at(-1)
    if (!service) throw new Error('the node was not started')
    return service
  }
  return {
    httpPort: ports.http,
    smtpPort: ports.smtp,
    url: current().url,
    pid: () => current().pid,
    start: () => spawn(ROOT),
    async stop() {
      const code = await current().kill('SIGTERM')
      if (code !== 0) throw new Error(`mayfly exited with ${code}:\n${current().output()}`)
    },
    async kill() {
      await current().kill('SIGKILL')
    },
    output: () => started.map((service) => service.output()).join(''),
  }
}
