import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isExampleName, parseAddress } from '../base/address.ts'
import type { Log } from '../base/log/log.ts'
import { toError } from '../base/problem.ts'
import type { CheckContext } from '../doctor/checks/context.ts'
import { openDnsProbe } from '../doctor/probes/dns.ts'
import { openHttpProbe } from '../doctor/probes/http.ts'
import { openSmtpProbe } from '../doctor/probes/smtp.ts'
import { isPrivateIp } from '../doctor/rules/dns-rules.ts'
import { backupState } from '../store/backup/backup.ts'
import { MAIL_FILE } from '../store/sqlite/files.ts'
import type { Store } from '../store/store.ts'
import type { Config } from './config.ts'
import { inspectPostgres, inspectRedis, inspectStripe } from './probes/backends.ts'
import { clockSynchronized, inspectDataDirectory, machineAddresses } from './probes/machine.ts'
import { openMailStoreForCli, usesPostgres } from './stores.ts'

interface CheckOptions {
  log: Log
  /** Only this domain, whether it is one of ours or not. */
  domain?: string | undefined
  settingsReport: CheckContext['settingsReport']
  store: (NonNullable<CheckContext['store']> & Pick<Store, 'listDomains'>) | undefined
  storeFault: string | undefined
}

/** What the checks of this installation work with. */
export async function openCheckContext(
  config: Config,
  { log, domain, settingsReport, store, storeFault }: CheckOptions,
): Promise<CheckContext> {
  const dns = openDnsProbe(config.senderChecks.dns)
  const stored = await store?.listDomains()
  const active = stored?.filter((one) => one.active && !one.removed).map(({ name }) => name)
  const names = domain === undefined ? (active ?? config.domains) : [domain]
  return {
    settings: config,
    settingsReport,
    domains: names.filter((name) => !isExampleName(name)),
    exampleDomains: names.filter(isExampleName),
    newDomains: stored
      ? config.domains.filter((name) => stored.every((one) => one.name !== name))
      : [],
    now: () => new Date(),
    uniqueId: randomUUID,
    dns,
    connectSmtp: openSmtpProbe(config.smtp),
    httpGet: openHttpProbe(dns),
    publicPorts: { smtp: 25, https: 443 },
    ownAddresses: machineAddresses().filter((ip) => !isPrivateIp(ip)),
    isPrivateIp,
    dataDirectory: async () =>
      inspectDataDirectory(config.data, {
        minFreeBytes: config.minFreeBytes,
        use: dataUse(config),
      }),
    clockSynchronized,
    store,
    storeFault,
    backup: async () => (usesPostgres(config) ? undefined : backupState(config.data)),
    postgres: () => inspectPostgres(config.store),
    redis: () => inspectRedis(config.redis, log),
    async testAccount(email) {
      const account = config.gmailAccounts.find((one) => one.email === parseAddress(email))
      if (!account) return { ok: false, reason: 'not in the accounts file' }
      const { testAccount } = await import('../gmail/imap/account.ts')
      return await testAccount(account)
    },
    stripe: () => inspectStripe(config.payments.stripe),
  }
}

/** The store of a command, or why there is none: before the first start, because a check creates nothing, or if it is unusable. */
export async function openStoreForChecks(config: Config) {
  const isNew = !usesPostgres(config) && !existsSync(join(config.data, MAIL_FILE))
  if (isNew) return { store: undefined, storeFault: undefined }
  try {
    return { store: await openMailStoreForCli(config), storeFault: undefined }
  } catch (error) {
    return { store: undefined, storeFault: toError(error).message }
  }
}

function dataUse(config: Config) {
  if (!usesPostgres(config)) return 'mail'
  return config.smtp.tlsCert === '' ? 'certificate' : 'nothing'
}

/** Settings of the environment that do not exist, most likely misspelt. */
export function settingsReport(
  settings: readonly { name: string; origin: string }[],
  env: NodeJS.ProcessEnv,
): CheckContext['settingsReport'] {
  const known = new Set(settings.flatMap(({ name }) => [name, `${name}_FILE`]))
  return {
    count: settings.length,
    changed: settings.filter(({ origin }) => origin !== 'default').length,
    unknown: Object.keys(env).filter((name) => name.startsWith('MAYFLY_') && !known.has(name)),
  }
}
