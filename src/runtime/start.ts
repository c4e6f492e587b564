import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { certificateFault } from '../base/certificate-files.ts'
import { operatorError } from '../base/fault.ts'
import type { Log } from '../base/log/log.ts'
import { freePort, listenHost } from '../base/network.ts'
import { makeWaiterCounts } from '../bus/memory.ts'
import { makeRates } from '../limit/memory.ts'
import { makeCounters, makeSharedBudget } from '../limit/shared-counters.ts'
import { addConfiguredDomains } from '../mail/sessions/domains.ts'
import type { SandboxOptions } from '../sandbox/pool.ts'
import { makeVersions } from '../store/sqlite/mailbox-cache.ts'
import type { Store } from '../store/store.ts'
import { openChildren } from './children.ts'
import type { Config } from './config.ts'
import { jobs } from './jobs.ts'
import { operatorWarnings } from './ledger.ts'
import { type Metrics, openMetrics } from './metrics.ts'
import { type Commands, serve } from './ports.ts'
import {
  makeClock,
  openBusAndLimit,
  openClock,
  type ServerThreadSetup,
  type SharedMemory,
} from './setup.ts'
import { neededThreads, type StartedStores, startStores } from './start-stores.ts'
import { serverInspection } from './stores.ts'
import { startSweep } from './sweep.ts'
import { descriptorLimit, limitConnections } from './system.ts'
import { type StartedThread, startThread } from './thread.ts'

interface Service {
  httpPort: number
  smtpPort: number
  listDomains: Store['listDomains']
  /** Drains the adapters for MAYFLY_DRAIN, closes them, and then everything they use. May be called again. */
  stop(): Promise<void>
}

export interface StartOptions {
  log: Log
  clock?: SharedArrayBuffer
  /** Program and limits of the child processes; only tests set it. */
  parsing?: Partial<SandboxOptions>
  /** For the daily checks. */
  settings?: readonly { name: string; origin: string }[] | undefined
  /** Called if a thread exits unexpectedly: the service cannot continue. */
  died(fault: Error): void
}

/** Starts everything, from the files outwards. If a step fails, the previous ones are stopped again. */
export async function startService(config: Config, options: StartOptions): Promise<Service> {
  requireCertificate(config)
  const closers: Closer[] = []
  try {
    const { drain, ...parts } = await startParts(config, { ...options, closers })
    let stopped: Promise<void> | undefined
    return {
      ...parts,
      stop() {
        stopped ??= drain().then(() => closeAll(closers))
        return stopped
      },
    }
  } catch (error) {
    // The error of the start is the one to report.
    await closeAll(closers).catch((err: Error) => options.log.error({ err }, 'closing failed'))
    throw error
  }
}

type Closer = () => unknown

/** In reverse order. A failure does not keep the others from closing. */
async function closeAll(closers: Closer[]): Promise<void> {
  const faults: unknown[] = []
  for (const close of closers.splice(0).reverse()) {
    try {
      await close()
    } catch (error) {
      faults.push(error)
    }
  }
  if (faults.length > 0) throw new AggregateError(faults, `stopping failed: ${faults}`)
}

async function startParts(
  given: Config,
  {
    log,
    died,
    clock = makeClock(),
    parsing = {},
    settings,
    closers,
  }: StartOptions & {
    closers: Closer[]
  },
) {
  const config = limitConnections(given, descriptorLimit())
  const shared = makeSharedMemory(clock)
  const { now } = openClock(clock)
  const stores = await startStores(config, { versions: shared.versions, now, log, died, closers })
  const { store, shop, ledgerKey, takePorts, mailWriter } = stores
  for (const domain of await addConfiguredDomains({ store }, config)) {
    log.warn({ domain }, 'MAYFLY_DOMAINS names a domain that a key holds: it stays with the key')
  }

  const serverThreads: StartedThread[] = []
  const metrics = openMetrics(config, { store, now, log, mailWriter, threads: serverThreads })
  const children = openChildren(config, { store, log, now, parsing })
  closers.push(children.close)
  const sweep = startSweep({ config, store, shop, now, log })
  closers.push(sweep.stop)
  const serving = Promise.withResolvers<void>()
  const parts = {
    config,
    store,
    shop,
    now,
    log,
    settings,
    parse: children.parse,
    inspectServer: serverInspection(config),
    readMetrics: metrics.read,
    openBus: () => openBusAndLimit(config, shared, log),
    serving: serving.promise,
  }
  const started = await startJobs(parts, closers)

  // All adapter threads at once: each may need time to complete what is in progress.
  closers.push(metrics.closeThreads)
  const host = await listenHost(config.host)
  const open = (kind: 'http' | 'smtp', smtpPort = config.smtp.port) =>
    startServerThreads(kind, {
      config: { ...config, smtp: { ...config.smtp, port: smtpPort } },
      host,
      shared,
      takePorts,
      ledgerKey,
      died,
      threads: serverThreads,
      metrics,
      commands: Object.assign({}, ...started.map((job) => job.commands), children.commands, {
        warnings: () => operatorWarnings(store, sweep),
      }),
    })
  // HTTP last: once /readyz responds, everything else is running.
  const smtpPort = await open('smtp')
  for (const name of neededThreads(config)) {
    const setup = { config, shared, mailPort: takePorts.mail(), ledgerKey, name }
    const maxOldMb = config.memory.threadMb
    serverThreads.push(await startThread('./job.ts', setup, { name, died, maxOldMb }))
  }
  const httpPort = await open('http', smtpPort)
  serving.resolve()
  // HTTP first: a load balancer sends traffic until it sees /readyz fail.
  const drain = async () => {
    // Before anything else.
    const drained = started.map((job) => job.drain?.())
    for (const thread of serverThreads.toReversed()) await thread.call('drain')
    await pause(config.drainMs)
    await Promise.all(drained)
  }
  return { httpPort, smtpPort, listDomains: store.listDomains, drain }
}

/** Before anything is started: a thread could not say what to do. */
function requireCertificate({ smtp, data }: Config): void {
  const own = join(data, 'smtp-tls.pem')
  const isOwn = smtp.tlsCert === ''
  const files = isOwn ? { cert: own, key: own } : { cert: smtp.tlsCert, key: smtp.tlsKey }
  const fault = isOwn && !existsSync(own) ? undefined : certificateFault(files)
  if (!fault) return
  const fix = isOwn ? 'Delete it: a new one is created at the next start' : fault.fix
  const where = isOwn ? 'MAYFLY_DATA' : 'MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY'
  throw operatorError(where, { seen: fault.seen, fix })
}

type StartJob = (typeof jobs)[keyof typeof jobs]
/** What all of them need together. */
type JobParts = StartJob extends (parts: infer Parts) => unknown ? Parts : never

interface Job {
  stop(): Promise<void>
  /** Called when the service begins to shut down. */
  drain?(): Promise<void>
  /** What HTTP threads may call. */
  commands?: Commands
}

async function startJobs(parts: JobParts, closers: Closer[]): Promise<Job[]> {
  const started: Job[] = []
  for (const start of Object.values(jobs)) {
    const job = await start(parts)
    closers.push(job.stop)
    started.push(job)
  }
  return started
}

function makeSharedMemory(clock: SharedArrayBuffer): SharedMemory {
  return {
    clock,
    versions: makeVersions(),
    waiterCounts: makeWaiterCounts(),
    rates: makeRates(),
    connections: makeCounters(),
    httpConnections: makeSharedBudget(),
    mailBytes: makeSharedBudget(),
    busName: `mayfly-${randomUUID()}`,
  }
}

interface ServerThreads extends Pick<StartedStores, 'takePorts' | 'ledgerKey'> {
  config: Config
  host: string
  shared: SharedMemory
  died(fault: Error): void
  /** All adapter threads so far; new ones are added. */
  threads: StartedThread[]
  metrics: Metrics
  /** What the threads may call. */
  commands: Commands
}

/** Side by side. If one fails, `threads` has the others, to be closed. */
async function startServerThreads(kind: 'http' | 'smtp', parts: ServerThreads): Promise<number> {
  const { config, host, threads } = parts
  const { threads: count } = config[kind]
  const reusePort = count > 1
  const port = reusePort ? await freePort(host, config[kind].port) : config[kind].port
  const { on, httpsPort } = config.acme
  if (reusePort && kind === 'http' && on) await freePort(host, httpsPort)
  const listen = { host, port, httpsPort, reusePort }
  const started = await Promise.allSettled(
    Array.from({ length: count }, (_, index) =>
      startServerThread(kind, `${kind}-${index + 1}`, { ...parts, listen }),
    ),
  )
  threads.push(...started.filter((one) => one.status === 'fulfilled').map(({ value }) => value))
  const failed = started.find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
  return Number(threads.at(-1)?.ready)
}

function startServerThread(
  kind: 'http' | 'smtp',
  name: string,
  parts: ServerThreads & Pick<ServerThreadSetup, 'listen'>,
) {
  const { config, shared, takePorts, ledgerKey, died, metrics, commands, listen } = parts
  const { port1, port2: mainPort } = new MessageChannel()
  serve(port1, { ...commands, metrics: metrics.text })
  const ports = {
    mainPort,
    mailPort: takePorts.mail(),
    shopPort: kind === 'http' ? takePorts.shop() : undefined,
  }
  const setup: ServerThreadSetup = { config, shared, ledgerKey, listen, name, ...ports }
  const { threadMb: maxOldMb, smtpHeap } = config.memory
  const heap = kind === 'smtp' ? smtpHeap : { maxOldMb }
  return startThread(`./${kind}.ts`, setup, { name, died, ...heap })
}
