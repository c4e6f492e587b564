import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import type { Log } from '../base/log/log.ts'
import { makeWaiterCounts } from '../bus/memory.ts'
import { addConfiguredAccounts } from '../gmail/accounts.ts'
import { makeRates } from '../limit/memory.ts'
import { makeCounters, makeSharedBudget } from '../limit/shared-counters.ts'
import { openParseOnce, type ParseRequest } from '../mail/read/parse-once.ts'
import { addConfiguredDomains } from '../mail/sessions/domains.ts'
import { openParser, type ParserOptions } from '../mime/parser.ts'
import { childIsolation } from '../sandbox/isolation.ts'
import { openChecker } from '../sender-auth/checker.ts'
import { openDns } from '../sender-auth/dns.ts'
import type { SenderCheckInput } from '../shared/mail.ts'
import { makeVersions } from '../store/sqlite/mailbox-cache.ts'
import type { Store } from '../store/store.ts'
import { startSeries, startShopJobs, startSweep, startWebhooks } from './background.ts'
import type { Config } from './config.ts'
import { type DailyCheckDeps, startChecks } from './daily-checks.ts'
import { operatorWarnings } from './ledger.ts'
import { type Metrics, openMetrics } from './metrics.ts'
import { serve } from './ports.ts'
import {
  makeClock,
  openBusAndLimit,
  openClock,
  type ServerThreadSetup,
  type SharedMemory,
  type ThreadSetup,
} from './setup.ts'
import { hasImapAccounts, startStores, type TakePorts } from './start-stores.ts'
import { descriptorLimit, freePort, limitConnections, listenHost } from './system.ts'
import { type StartedThread, startThread } from './thread.ts'

interface Service {
  httpPort: number
  smtpPort: number
  listDomains: Store['listDomains']
  /** Drains the adapters for MAYFLY_DRAIN, closes them, and then everything they use. */
  stop(): Promise<void>
}

export interface StartOptions {
  log: Log
  clock?: SharedArrayBuffer
  /** Program and limits of the parser processes; only tests set it. */
  parsing?: Partial<ParserOptions>
  /** For the daily checks. */
  settings?: DailyCheckDeps['settings']
  /** Called if a thread exits unexpectedly: the service cannot continue. */
  died(fault: Error): void
}

/** Starts everything, from the files outwards. If a step fails, the previous ones are stopped again. */
export async function startService(
  config: Config,
  { log, died, clock = makeClock(), parsing = {}, settings }: StartOptions,
): Promise<Service> {
  const closers: Closer[] = []
  try {
    const { drain, ...parts } = await startParts(config, {
      log,
      died,
      clock,
      parsing,
      settings,
      closers,
    })
    return {
      ...parts,
      async stop() {
        await drain()
        await closeAll(closers)
      },
    }
  } catch (error) {
    // The error of the start is the one to report.
    await closeAll(closers).catch((err: Error) => log.error({ err }, 'closing failed'))
    throw error
  }
}

type Closer = () => unknown
type Starting = Required<Omit<StartOptions, 'settings'>> &
  Pick<StartOptions, 'settings'> & { closers: Closer[] }

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
  { log, died, clock, parsing, settings, closers }: Starting,
) {
  const config = limitConnections(given, descriptorLimit())
  const shared = makeSharedMemory(clock)
  const { now } = openClock(clock)
  const stores = await startStores(config, { versions: shared.versions, now, log, died, closers })
  const { store, shop, ledgerKey, takePorts, writers } = stores
  await addConfiguredDomains({ store }, config)
  await addConfiguredAccounts({ store }, config.gmailAccounts)

  const serverThreads: StartedThread[] = []
  const metrics = openMetrics(config, { store, now, log, writers, threads: serverThreads })
  const series = startSeries({ store, now, log, readMetrics: metrics.read })
  // After everything that counts has stopped.
  closers.push(series.finish)

  const children = openChildren(config, { store, log, now, parsing })
  closers.push(children.close)
  const sweep = startSweep(config, { store, now, log })
  closers.push(sweep.stop)
  closers.push(await startShopJobs(config, { store, shop, now, log }))
  const checks = startChecks(config, { store, now, log, settings })
  closers.push(checks.stop)
  if (config.webhooks.on) {
    const { bus, close: closeBus } = await openBusAndLimit(config, shared, log)
    closers.push(closeBus)
    const { parse } = children
    closers.push(await startWebhooks(config, { store, shop, parse, bus, now, log }))
  }

  const warnings = () => operatorWarnings(store, sweep)

  // All adapter threads at once: each may need time to complete what is in progress.
  closers.push(metrics.closeThreads, series.pause)
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
      commands: { ...children.commands, ...checks.commands, warnings },
    })
  // HTTP last: once /readyz responds, everything else is running.
  const smtpPort = await open('smtp')
  if (hasImapAccounts(config)) {
    const mailPort = takePorts.mail()
    const setup: ThreadSetup = { config, shared, mailPort, ledgerKey, name: 'imap' }
    serverThreads.push(await startThread('./imap.ts', setup, { name: 'imap', died }))
  }
  const httpPort = await open('http', smtpPort)
  // HTTP first: a load balancer sends traffic until it sees /readyz fail.
  const drain = async () => {
    // Before anything else: they would find what is shutting down.
    const checksStopped = checks.stop()
    for (const thread of serverThreads.toReversed()) await thread.call('drain')
    await pause(config.drainMs)
    await checksStopped
  }
  return { httpPort, smtpPort, listDomains: store.listDomains, drain }
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

interface ServerThreads {
  config: Config
  host: string
  shared: SharedMemory
  takePorts: TakePorts
  ledgerKey: Uint8Array
  died(fault: Error): void
  /** All adapter threads so far; new ones are added. */
  threads: StartedThread[]
  metrics: Metrics
  /** What the threads may call. */
  commands: Parameters<typeof serve>[1]
}

/** Side by side. If one fails, `threads` has the others, to be closed. */
async function startServerThreads(kind: 'http' | 'smtp', parts: ServerThreads): Promise<number> {
  const { config, host, threads } = parts
  const { threads: count } = config[kind]
  const reusePort = count > 1
  const port = reusePort ? await freePort(host, config[kind].port) : config[kind].port
  const listen = { host, port, reusePort }
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
  const mailPort = takePorts.mail()
  const shopPort = kind === 'http' ? takePorts.shop() : undefined
  const setup: ServerThreadSetup = {
    config,
    shared,
    mailPort,
    shopPort,
    ledgerKey,
    mainPort,
    listen,
    name,
  }
  return startThread(`./${kind}.ts`, setup, { name, died })
}

interface ChildrenDeps {
  store: Store
  log: Log
  now(): Date
  parsing: Partial<ParserOptions>
}

/** The child processes that handle untrusted input, and the commands that threads may call. */
function openChildren({ senderChecks }: Config, { store, log, now, parsing }: ChildrenDeps) {
  const parser = openParser({ log, ...parsing })
  const parse = openParseOnce({ store, parser })
  const { kind: isolation } = childIsolation()
  if (isolation === 'none' && process.platform === 'linux')
    log.warn(
      { isolation },
      'child processes that parse mail run as the same user, without a namespace of their own',
    )
  else log.debug({ isolation }, 'isolation of child processes')
  const checker = openChecker({ dns: openDns({ servers: senderChecks.dns, now }), log })
  return {
    parse,
    commands: {
      parse: ({ rawId, request }: { rawId: number; request: ParseRequest }, signal: AbortSignal) =>
        parse(rawId, request, signal),
      checkSender: ({ priority, ...facts }: SenderCheckInput & { priority?: 'background' }) =>
        checker.check(facts, priority),
    },
    close: () => Promise.all([parser.close(), checker.close()]),
  }
}
