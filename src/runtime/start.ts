import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { AggregatorRegistry } from 'prom-client'
import { makeWaiterCounts } from '../bus/memory.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../core/log.ts'
import type { SenderCheckInput } from '../core/message.ts'
import { makeRates } from '../limit/memory.ts'
import { makeCounters, makeSharedBudget } from '../limit/shared-counters.ts'
import { openParser, type ParserOptions } from '../mime/parser.ts'
import { childIsolation } from '../sandbox/isolation.ts'
import { openChecker } from '../sender-auth/checker.ts'
import { openDns } from '../sender-auth/dns.ts'
import { openParseOnce, type ParseRequest } from '../service/mail/parse-once.ts'
import { addConfiguredAccounts } from '../service/sessions/accounts.ts'
import { addConfiguredDomains } from '../service/sessions/domains.ts'
import { lockFolder } from '../store/sqlite/files.ts'
import { makeVersions } from '../store/sqlite/versions.ts'
import type { MailStore } from '../store/store.ts'
import { startShopJobs, startSweep } from './background.ts'
import { serve } from './ports.ts'
import {
  makeClock,
  openClock,
  type ServerThreadSetup,
  type SharedMemory,
  type ThreadSetup,
} from './setup.ts'
import { openMailStore, openShopStore, receiveLimits, usesPostgres } from './stores.ts'
import { descriptorLimit, freePort, limitConnections, listenHost } from './system.ts'
import {
  startMailWriter,
  startShopWriter,
  startThread,
  type Thread,
  type Writer,
} from './thread.ts'

interface Service {
  httpPort: number
  smtpPort: number
  listDomains: MailStore['listDomains']
  /** Starts a parse child before there is a mail for it: the first code is then found as quickly as the next. */
  warm(): Promise<void>
  /** Drains the doors for as long as MAYFLY_DRAIN says, closes them, so nothing new comes in, and then what they used. */
  stop(): Promise<void>
}

export interface StartOptions {
  log: Log
  clock?: SharedArrayBuffer
  /** The parse children's program and limits; only tests set it. */
  parsing?: Partial<ParserOptions>
  /** Called when a thread ends without having been asked: the service cannot go on. */
  died(fault: Error): void
}

/** Starts every part, from the files outwards. What was started before a fault is stopped again. */
export async function startService(
  config: Config,
  { log, died, clock = makeClock(), parsing = {} }: StartOptions,
): Promise<Service> {
  const closers: Closer[] = []
  try {
    const { drain, ...parts } = await startParts(config, { log, died, clock, parsing, closers })
    return {
      ...parts,
      async stop() {
        await drain()
        await closeAll(closers)
      },
    }
  } catch (error) {
    // The fault of the start is the one to tell.
    await closeAll(closers).catch((err: Error) => log.error({ err }, 'a part did not close'))
    throw error
  }
}

type Closer = () => unknown
type Starting = Required<StartOptions> & { closers: Closer[] }

/** The last one opened first. One that fails keeps none of the others from closing. */
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

async function startParts(given: Config, { log, died, clock, parsing, closers }: Starting) {
  const config = limitConnections(given, descriptorLimit())
  const shared: SharedMemory = {
    clock,
    versions: makeVersions(),
    waiterCounts: makeWaiterCounts(),
    rates: makeRates(),
    connections: makeCounters(),
    httpConnections: makeSharedBudget(),
    mailBytes: makeSharedBudget(),
    busName: `mayfly-${randomUUID()}`,
  }
  const takePorts = await startWriters(config, { versions: shared.versions, died, closers })
  const store = await openMailStore(config, { versions: shared.versions, port: takePorts.mail() })
  closers.push(store.close)
  const { now } = openClock(clock)
  const shop = await openShopStore(config, takePorts.shop())
  closers.push(shop.close)
  await addConfiguredDomains({ store }, config)
  await addConfiguredAccounts({ store }, config.gmailAccounts)

  const children = openChildren(config, { store, log, now, parsing })
  closers.push(children.close)
  const sweep = startSweep(config, { store, now, log })
  closers.push(sweep.stop)
  closers.push(await startShopJobs(config, { store, shop, now, log }))

  // All threads of all doors at once: each may need its time to finish what is under way.
  const serverThreads: Thread[] = []
  closers.push(() => Promise.all(serverThreads.map((thread) => thread.close())))
  const host = await listenHost(config.host)
  const open = (kind: 'http' | 'smtp') =>
    startServerThreads(kind, {
      config,
      host,
      shared,
      takePorts,
      died,
      threads: serverThreads,
      children,
      warnings: sweep.warnings,
    })
  // HTTP last: once /readyz answers, everything else is there.
  const smtpPort = await open('smtp')
  if (hasImapAccounts(config)) {
    const mailPort = takePorts.mail()
    const setup: ThreadSetup = { config, shared, mailPort, name: 'imap' }
    serverThreads.push(await startThread('./imap.ts', setup, { name: 'imap', died }))
  }
  const httpPort = await open('http')
  // HTTP first: until a load balancer has seen /readyz turn, it sends us whatever comes.
  const drain = async () => {
    for (const thread of serverThreads.toReversed()) await thread.call('drain')
    await pause(config.drainMs)
  }
  return { httpPort, smtpPort, listDomains: store.listDomains, warm: children.warm, drain }
}

const hasImapAccounts = ({ gmailAccounts }: Config) => gmailAccounts.length > 0

/** Ways to the writers, one for each who asks. */
interface TakePorts {
  mail(): MessagePort | undefined
  shop(): MessagePort | undefined
}

/** SQLite's two writers, and this folder for us alone. PostgreSQL needs neither. */
async function startWriters(
  config: Config,
  { versions, died, closers }: Pick<Starting, 'died' | 'closers'> & Pick<SharedMemory, 'versions'>,
): Promise<TakePorts> {
  if (usesPostgres(config)) return { mail: () => undefined, shop: () => undefined }
  const { data: folder, mailMaxBytes: maxBytes, smtp, http } = config
  closers.push(lockFolder(folder))
  const limits = receiveLimits(config)
  const servers = smtp.threads + http.threads + (hasImapAccounts(config) ? 1 : 0)
  const mail = await startMailWriter(servers + 1, { folder, maxBytes, limits, versions, died })
  closers.push(mail.thread.close)
  const shop = await startShopWriter(http.threads + 1, { folder, died })
  closers.push(shop.thread.close)
  return { mail: portTaker(mail), shop: portTaker(shop) }
}

interface ServerThreads {
  config: Config
  host: string
  shared: SharedMemory
  takePorts: TakePorts
  died(fault: Error): void
  /** The doors' threads so far; these join them. */
  threads: Thread[]
  children: Children
  /** For the operator, in /readyz. */
  warnings(): string[]
}

async function startServerThreads(kind: 'http' | 'smtp', parts: ServerThreads): Promise<number> {
  const { config, host, shared, died, threads, children, warnings } = parts
  const { threads: count } = config[kind]
  const reusePort = count > 1
  let port = reusePort ? await freePort(host, config[kind].port) : config[kind].port

  for (let number = 1; number <= count; number += 1) {
    const name = `${kind}-${number}`
    const { port1, port2: mainPort } = new MessageChannel()
    serve(port1, { ...children.commands, metrics: () => aggregateMetrics(threads), warnings })
    const mailPort = parts.takePorts.mail()
    const shopPort = kind === 'http' ? parts.takePorts.shop() : undefined
    const listen = { host, port, reusePort }
    const setup: ServerThreadSetup = { config, shared, mailPort, shopPort, mainPort, listen, name }
    const thread = await startThread(`./${kind}.ts`, setup, { name, died })
    port = Number(thread.ready)
    threads.push(thread)
  }
  return port
}

type Children = ReturnType<typeof openChildren>

interface ChildrenDeps {
  store: MailStore
  log: Log
  now(): Date
  parsing: Partial<ParserOptions>
}

/** The processes that read what strangers wrote, and what the doors may ask of them. */
function openChildren({ senderChecks }: Config, { store, log, now, parsing }: ChildrenDeps) {
  const parser = openParser({ log, ...parsing })
  const parse = openParseOnce({ store, parser })
  log.debug({ isolation: childIsolation().kind }, 'isolation of child processes')
  const checker = openChecker({ dns: openDns({ servers: senderChecks.dns, now }), log })
  return {
    commands: {
      parse: ({ rawId, request }: { rawId: number; request: ParseRequest }, signal: AbortSignal) =>
        parse(rawId, request, signal),
      checkSender: ({ haste, ...facts }: SenderCheckInput & { haste?: 'later' }) =>
        checker.check(facts, haste),
    },
    warm: async () => void (await parser.parse(new Uint8Array())),
    close: () => Promise.all([parser.close(), checker.close()]),
  }
}

/** Hands out the ways to a writer, one to each caller. */
function portTaker({ ports }: Writer): () => MessagePort {
  return () => {
    const port = ports.pop()
    if (!port) throw new Error('more callers than ports to a writer')
    return port
  }
}

/** The counters of every door, added up. */
async function aggregateMetrics(threads: readonly Thread[]): Promise<string> {
  const metrics = await Promise.all(threads.map((thread) => thread.call('metrics')))
  return AggregatorRegistry.aggregate(metrics as object[][]).metrics()
}
