import { skipped } from '../base/check-result.ts'
import { type OwnDomainSettings, ownDomainCheck } from '../domains/own/check.ts'
import { accountCheck } from '../gmail/check.ts'
import type { AccountSetting } from '../gmail/settings.ts'
import { type PaymentOptions, paymentCheck } from '../shop/check.ts'
import { backupCheck } from '../store/backup/check.ts'
import { type AcmeCheckConfig, certificatesCheck } from '../tls/check.ts'
import {
  type CheckContext,
  type CheckedSettings,
  type CheckOptions,
  type Facts,
  openCheckContext,
  openFacts,
} from './facts.ts'
import { MAIL_CHECKS } from './mail-checks.ts'
import { evaluatePostgres, evaluateRedis, evaluateStoreFault } from './rules/backend-rules.ts'
import { evaluateBaseUrl, evaluateHttp, evaluateStream } from './rules/http-rules.ts'
import {
  evaluateAdminToken,
  evaluateClock,
  evaluateDomains,
  evaluateLedger,
  evaluateProxy,
  evaluateRelays,
  evaluateSettings,
  evaluateStore,
} from './rules/installation-rules.ts'
import { evaluateDataDirectory, evaluateLimits } from './rules/machine-rules.ts'
import { type Check, type CheckEntry, check, checksOf } from './run-checks.ts'

/** With the settings of other features. */
export type CheckConfig = CheckedSettings &
  AcmeCheckConfig & {
    gmailAccounts: readonly AccountSetting[]
    payments: PaymentOptions
    ownDomains: OwnDomainSettings
    backup: { folder: string }
  }

export type Installation = CheckContext<CheckConfig>

/** Every check of an installation, also those of other features. */
const CHECKS: readonly CheckEntry<Facts<Installation>>[] = [
  check('settings', async ({ settingsReport }) => evaluateSettings(settingsReport)),
  check('domains', async (facts) => evaluateDomains(facts)),
  check('data', async (facts) => evaluateDataDirectory(await facts.dataDirectory())),
  check('store', async ({ store, storeFault: fault, inspectServer }) =>
    evaluateStore({ isFile: !inspectServer, isOpen: store !== undefined, fault }),
  ),
  check('ledger', async ({ store }) => evaluateLedger(await store?.readLedger())),
  check('clock', async ({ clockSynchronized, throughProxy, now, settings }) => {
    const synchronized = await clockSynchronized()
    const { baseUrl: reference } = settings.http
    const date = reference === '' ? undefined : (await throughProxy())?.date
    const offsetMs = date && date.getTime() - now().getTime()
    return evaluateClock({ synchronized, offsetMs, reference })
  }),
  check('http', async ({ settings, localHttp, isRunning, storeFault }) => {
    const response = await localHttp()
    const { port } = settings.http
    return evaluateHttp({ port, response, isRunning: await isRunning(), storeFault })
  }),
  check('base-url', async ({ settings, servesTls, localHttp, httpGet, now }, _, signal) => {
    const { baseUrl } = settings.http
    const own = await localHttp()
    const local = 'status' in own && own.status === 200 ? own.body : undefined
    const isTried = baseUrl !== '' && local !== undefined
    const response = isTried ? await httpGet(`${baseUrl}/api/domains`, { signal }) : undefined
    return evaluateBaseUrl(baseUrl, { response, local, servesTls, now: now() })
  }),
  check({ name: 'stream', needsService: true }, async (facts, _, signal) => {
    const { baseUrl } = facts.settings.http
    if (!baseUrl.startsWith('https:')) return skipped('no proxy: MAYFLY_BASE_URL is not https')
    if ((await facts.throughProxy())?.status !== 200) return skipped('see base-url')
    return await facts.withSession(async (headers) => {
      const options = { headers, isStream: true, signal }
      return evaluateStream(baseUrl, await facts.httpGet(`${baseUrl}/api/events`, options))
    })
  }),
  check('proxy', async ({ settings: { rateLimits, http }, servesTls, localHttp, throughProxy }) => {
    const { baseUrl, trustProxy } = http
    if (servesTls) return skipped('no proxy: MAYFLY_ACME=on')
    const isTried = baseUrl.startsWith('https:') && 'status' in (await localHttp())
    const counted = isTried ? countedClient((await throughProxy())?.body) : undefined
    return evaluateProxy({ baseUrl, trustProxy, rateLimits, counted })
  }),
  check('admin-token', async (facts, _, signal) => {
    const isRunning = 'status' in (await facts.localHttp())
    const metrics = isRunning ? await facts.httpGet(`${facts.localUrl}/metrics`, { signal }) : {}
    const isOpen = 'status' in metrics && metrics.status === 200
    const exposed = isRunning ? await facts.readMetric('mayfly_admin_token_exposed_total') : 0
    return evaluateAdminToken(facts.settings.adminToken, isOpen, exposed)
  }),
  check({ name: 'limits', needsService: true }, async ({ readMetric, settings }) => {
    const [maxFiles, connections, memoryBytes] = await Promise.all([
      readMetric('process_max_fds'),
      readMetric('mayfly_http_max_connections'),
      readMetric('mayfly_memory_limit_bytes'),
    ])
    const { connections: wanted } = settings.http
    return evaluateLimits({ maxFiles, connections, wanted, memoryBytes })
  }),
  check('relays', async ({ settings }) => evaluateRelays(settings.smtp)),
  certificatesCheck,
  ...MAIL_CHECKS,
  check('postgres', async ({ inspectServer, storeFault }) => {
    if (!inspectServer) return skipped('not used')
    const result = evaluatePostgres(await inspectServer())
    if (storeFault === undefined || result.status === 'failure') return result
    return evaluateStoreFault(storeFault)
  }),
  check('redis', async ({ settings: { redis: url } }) => {
    if (url === '') return skipped('not used')
    // Loaded where it is used.
    const { inspectRedis } = await import('../redis/inspect.ts')
    return evaluateRedis(await inspectRedis(url))
  }),
  ownDomainCheck,
  accountCheck,
  paymentCheck,
  backupCheck,
]

/** All checks of this installation. Facts that several of them need are established once, so make a new list for each run. */
export function listChecks(context: Installation, { listings = false } = {}): Check[] {
  const facts = openFacts(context)
  const wanted = CHECKS.filter(({ onRequest }) => listings || !onRequest)
  return wanted.flatMap((entry) => checksOf(entry, facts))
}

/** `client` of /readyz; undefined if the response does not have it. */
function countedClient(body = ''): string | null | undefined {
  try {
    const { client } = JSON.parse(body) as { client?: unknown }
    return client === null || typeof client === 'string' ? client : undefined
  } catch {
    return undefined
  }
}

/** A new list for each run. `listings`: also those that are made only on request. */
export async function openChecks(
  config: CheckConfig,
  { listings = false, ...options }: CheckOptions & { listings?: boolean },
): Promise<Check[]> {
  return listChecks(await openCheckContext(config, options), { listings })
}
