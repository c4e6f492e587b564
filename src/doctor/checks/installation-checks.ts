import { toError } from '../../base/problem.ts'
import { evaluatePayments, evaluatePostgres, evaluateStoreFault } from '../rules/backend-rules.ts'
import {
  evaluateAdminToken,
  evaluateApiProblem,
  evaluateBackup,
  evaluateBaseUrl,
  evaluateClock,
  evaluateDataDirectory,
  evaluateLedger,
  evaluateProxy,
  type PublicResponse,
} from '../rules/installation-rules.ts'
import { failure, ok, skipped, warning } from '../rules/result.ts'
import { type Check, type CheckContext, type HttpProbeResponse, TlsError } from './context.ts'
import type { Facts } from './facts.ts'

const SQLITE = 'sqlite:'

/** Checks of this machine, its settings and its HTTP server. */
export function installationChecks(context: CheckContext, facts: Facts): Check[] {
  const { settings } = context
  const { baseUrl, port } = settings.http
  // Not more than one request through the proxy.
  let request: Promise<HttpProbeResponse | Error> | undefined
  const throughProxy = (signal: AbortSignal) => {
    request ??= context
      .httpGet(`${baseUrl}/readyz`, {
        // Not over plain HTTP: only the date is needed then.
        headers: baseUrl.startsWith('https:')
          ? { authorization: `Bearer ${settings.adminToken}` }
          : {},
        signal,
      })
      .catch(toError)
    return request
  }
  return [
    { name: 'settings', run: async () => checkSettings(context) },
    { name: 'domains', run: async () => checkDomains(context) },
    { name: 'data', run: async () => evaluateDataDirectory(await context.dataDirectory()) },
    { name: 'store', run: async () => checkStore(context) },
    {
      name: 'ledger',
      run: async () => evaluateLedger(await context.store?.readLedger()),
    },
    {
      name: 'clock',
      async run(signal) {
        const synchronized = await context.clockSynchronized()
        const response = baseUrl === '' ? undefined : await throughProxy(signal)
        const date = response instanceof Error ? undefined : response?.date
        const offsetMs = date && date.getTime() - context.now().getTime()
        return evaluateClock({ synchronized, offsetMs, reference: baseUrl })
      },
    },
    {
      name: 'http',
      async run() {
        const local = await facts.localHttp()
        if ('domains' in local) return ok(`port ${port}`)
        if ('code' in local) return evaluateApiProblem(local, context.storeFault)
        if ('error' in (await facts.localSmtp())) return skipped('the service is not running')
        return failure(
          `${facts.localUrl}/api/domains: ${local.error}`,
          `Another program uses the port, or the service has different settings from this command: restart it, or set MAYFLY_HTTP_PORT`,
        )
      },
    },
    {
      name: 'base-url',
      async run(signal) {
        const local = await facts.localHttp()
        const domains = 'domains' in local ? local.domains : undefined
        const isTried = baseUrl !== '' && domains !== undefined
        const response = isTried ? await publicDomains(context, signal) : undefined
        return evaluateBaseUrl(baseUrl, { response, local: domains })
      },
    },
    {
      name: 'proxy',
      async run(signal) {
        const { trustProxy } = settings.http
        const isTried = baseUrl.startsWith('https:') && !('error' in (await facts.localHttp()))
        const response = isTried ? await throughProxy(signal) : undefined
        const counted = response instanceof Error ? undefined : countedClient(response)
        return evaluateProxy({ baseUrl, trustProxy, rateLimits: settings.rateLimits, counted })
      },
    },
    {
      name: 'admin-token',
      async run(signal) {
        const isRunning = !('error' in (await facts.localHttp()))
        const response = isRunning
          ? await context.httpGet(`${facts.localUrl}/metrics`, { signal })
          : undefined
        return evaluateAdminToken(settings.adminToken, response && response.status === 200)
      },
    },
  ]
}

async function publicDomains(
  { settings, httpGet }: CheckContext,
  signal: AbortSignal,
): Promise<PublicResponse> {
  try {
    return await httpGet(`${settings.http.baseUrl}/api/domains`, { signal })
  } catch (error) {
    return { error: toError(error).message, isTls: error instanceof TlsError }
  }
}

/** `client` of /readyz; undefined if the response does not have it. */
function countedClient(response: HttpProbeResponse | undefined): string | null | undefined {
  try {
    const { client } = JSON.parse(response?.body ?? '') as { client?: unknown }
    return client === null || typeof client === 'string' ? client : undefined
  } catch {
    return undefined
  }
}

function checkSettings({ settingsReport }: CheckContext) {
  if (!settingsReport) return skipped('passed by a program')
  const { count, changed, unknown } = settingsReport
  if (unknown.length > 0) {
    return warning(
      `unknown: ${unknown.join(', ')}`,
      'Correct the names or remove them. All settings: mayfly config',
    )
  }
  return ok(`${count} settings, ${changed} of them set`)
}

function checkDomains({ domains, exampleDomains: examples, newDomains }: CheckContext) {
  if (newDomains.length > 0) {
    return failure(
      `${newDomains.join(', ')}: in the settings, but not added yet, so mail is rejected`,
      'Restart the service, which adds them: systemctl restart mayfly',
    )
  }
  if (domains.length === 0) {
    return failure(
      examples.length > 0 ? `only examples: ${examples.join(', ')}` : 'no active domain',
      'mayfly domain add YOUR.DOMAIN, or: mayfly setup',
    )
  }
  if (examples.length > 0) {
    return warning(
      `${examples.join(', ')}: nobody can send mail there`,
      examples.map((name) => `mayfly domain remove ${name}`).join('\n'),
    )
  }
  return ok(domains.join(', '))
}

function checkStore({ settings, store, storeFault }: CheckContext) {
  if (store) return ok(settings.store === SQLITE ? 'mail.db' : 'PostgreSQL')
  if (storeFault === undefined) return skipped('created when the service starts')
  if (settings.store !== SQLITE) return skipped('see postgres')
  return failure(
    storeFault,
    'If the service runs, restart it; otherwise read its log, and restore the file system or a backup',
  )
}

/** Checks of other servers: database, accounts, payments. */
export function backendChecks(context: CheckContext): Check[] {
  const { settings, now } = context
  const accounts = settings.gmailAccounts.filter(({ active }) => active)
  return [
    {
      name: 'postgres',
      async run() {
        if (settings.store === SQLITE) return skipped('not used')
        try {
          const result = evaluatePostgres(await context.postgres())
          const { storeFault } = context
          if (storeFault === undefined || result.status === 'failure') return result
          return evaluateStoreFault(storeFault)
        } catch (error) {
          return failure(toError(error).message, 'Start PostgreSQL, or correct MAYFLY_STORE')
        }
      },
    },
    {
      name: 'redis',
      async run() {
        if (settings.redis === '') return skipped('not used')
        try {
          return ok(`Redis ${await context.redis()}`)
        } catch (error) {
          return failure(toError(error).message, 'Start Redis, or correct MAYFLY_REDIS')
        }
      },
    },
    ...(accounts.length === 0
      ? [{ name: 'gmail', run: async () => skipped('no accounts') }]
      : accounts.map(({ email }) => ({
          name: 'gmail',
          subject: email,
          async run() {
            const result = await context.testAccount(email)
            if (result.ok) return ok('logged in')
            return failure(
              result.reason,
              `Correct its password or token in the file named by MAYFLY_GMAIL_ACCOUNTS_FILE (docs/gmail.md), then: mayfly account test ${email}`,
            )
          },
        }))),
    {
      name: 'payments',
      async run() {
        const { provider } = settings.payments
        const { baseUrl } = settings.http
        const stripe = provider === 'stripe' ? await context.stripe() : undefined
        const facts = stripe ?? { isTestMode: false, endpoints: undefined }
        return evaluatePayments({ provider, baseUrl, ...facts })
      },
    },
    {
      name: 'backup',
      async run() {
        const state = await context.backup()
        if (!state) return skipped('PostgreSQL: see docs/scaling.md')
        return evaluateBackup(state, now())
      },
    },
  ]
}
