import { domainName } from '../base/address.ts'
import { openLog } from '../base/log/open-log.ts'
import { redactPasswords } from '../base/settings/values.ts'
import { banner, localEndpoints, startWarnings } from '../cli/banner.ts'
import type { Config } from './config.ts'
import { releaseMemoryWhenIdle } from './idle-memory.ts'
import { type StartOptions, startService } from './start.ts'
import { storeFolder } from './stores.ts'
import { descriptorLimit, limitConnections } from './system.ts'

interface ServeOptions extends Pick<StartOptions, 'settings'> {
  /** Runs the CLI, for the banner. */
  command: string
}

/** Runs the service until it is told to stop, then exits. */
export async function serve(config: Config, { command, settings }: ServeOptions): Promise<void> {
  const log = openLog({ level: config.logLevel, thread: 'main' })
  // Installed first: the service may be stopped while it starts.
  const stopRequested = stopSignal()
  const service = await startService(config, {
    log,
    settings,
    died(fault) {
      log.error({ err: fault }, 'a thread died; exiting')
      process.exit(1)
    },
  })
  const { httpPort, smtpPort } = service
  const endpoints = localEndpoints({ host: config.host, httpPort, smtpPort })
  const domains = await service.listDomains()
  const names = domains.filter((domain) => domain.active && !domain.removed).map(domainName)
  const lines = banner({
    endpoints,
    baseUrl: config.http.baseUrl,
    domains: names,
    dataLocation: storeFolder(config) ?? redactPasswords(config.store),
    shop: config.shopOpen,
    isTestShop: config.testKeys,
    command,
  })
  log.info({ http: httpPort, smtp: smtpPort, domains: names.length }, 'started')
  // If a program reads the log, standard output has only JSON lines, and nobody reads the banner.
  const terminal = [process.stdout, process.stderr].find(({ isTTY }) => isTTY)
  // A terminal that is gone must not stop intake.
  terminal?.on('error', () => {})
  terminal?.write(`${lines.join('\n')}\n`)
  for (const warning of startWarnings(exposure(config))) log.warn({}, warning)

  releaseMemoryWhenIdle()
  await stopRequested
  log.info({}, 'shutting down: completing mail in progress')
  await service.stop()
  log.info({}, 'stopped')
  // Does not wait for requests to a payment provider or mail server that never responds.
  process.exit()
}

function exposure(config: Config) {
  const { host, http, smtp, acme, adminToken } = config
  const allowed = limitConnections(config, descriptorLimit())
  return {
    host,
    baseUrl: http.baseUrl,
    adminToken,
    enforcesTls: http.mtaSts === 'enforce',
    isSelfSigned: smtp.tlsCert === '' && !acme.on,
    connections: { wanted: http.connections, allowed: allowed.http.connections },
  }
}

/** Resolves at the first signal. The second exits at once: nothing acknowledged is lost. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let stopping = false
    const stop = () => {
      if (stopping) process.exit(1)
      stopping = true
      resolve()
    }
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, stop)
  })
}
