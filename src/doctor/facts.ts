import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { domainName, isExampleName } from '../base/address.ts'
import { certificateFault } from '../base/certificate-files.ts'
import { type CheckResult, skipped } from '../base/check-result.ts'
import { isPrivateIp, localAddress } from '../base/ip.ts'
import type { Log } from '../base/log/log.ts'
import { verifyMailer } from '../base/mailer.ts'
import { machineAddresses } from '../base/network.ts'
import { toError } from '../base/problem.ts'
import { connectSmtp, type SmtpClient } from '../base/smtp-client.ts'
import { localEndpoints } from '../cli/banner.ts'
import type { MailStore } from '../mail/store.ts'
import type { TlsStore } from '../tls/store.ts'
import { type DnsProbe, openDnsProbe } from './probes/dns.ts'
import { openHttpProbe } from './probes/http.ts'
import { clockSynchronized, inspectDataDirectory } from './probes/machine.ts'
import type { evaluatePostgres } from './rules/backend-rules.ts'
import type { SettingsReport } from './rules/installation-rules.ts'
import { type HttpResponse, recordsOf } from './rules/result.ts'
import { type Greeting, greetsAs } from './rules/smtp-rules.ts'
import { isMtaSts, mtaStsUrl, type ServedCertificate } from './rules/tls-rules.ts'

/** The settings that checks look at. */
export interface CheckedSettings {
  host: string
  data: string
  domains: readonly string[]
  minFreeBytes: number | 'auto'
  adminToken: string
  rateLimits: boolean
  acme: { on: boolean }
  http: {
    port: number
    baseUrl: string
    trustProxy: readonly string[]
    mtaSts: 'off' | 'testing' | 'enforce'
    connections: number
  }
  smtp: {
    port: number
    hostname: string
    tlsCert: string
    tlsKey: string
    proxyFrom: readonly string[]
    relays: readonly string[]
  }
  mailOut: { url: string; from: string }
  redis: string
  senderChecks: { dns: readonly string[] }
}

type CheckedStore = Pick<
  MailStore,
  'listMessages' | 'readRaw' | 'deleteMessages' | 'readLedger' | 'listDomains'
> &
  Pick<TlsStore, 'listTlsEntries'>

export interface CheckOptions {
  log: Log
  /** Only this domain, whether it is one of ours or not. */
  domain?: string | undefined
  /** All settings and their origin; undefined if a program passed them. */
  settings: readonly { name: string; origin: string }[] | undefined
  /** Undefined if there is no store yet, or if it cannot be used. */
  store: CheckedStore | undefined
  /** Why it cannot be used. */
  storeFault?: string | undefined
  /** Asks the database server that keeps the mail; undefined if it is kept in the data directory. */
  inspectServer: (() => Promise<Parameters<typeof evaluatePostgres>[0]>) | undefined
}

export type CheckContext<Settings extends CheckedSettings = CheckedSettings> = Awaited<
  ReturnType<typeof openCheckContext<Settings>>
>

/** What the checks of this installation work with. */
export async function openCheckContext<Settings extends CheckedSettings>(
  config: Settings,
  { log, domain, settings, store, storeFault, inspectServer }: CheckOptions,
) {
  const { senderChecks, smtp, data, minFreeBytes } = config
  const dns = openDnsProbe(senderChecks.dns)
  const stored = await store?.listDomains()
  const active = stored?.filter((one) => one.active && !one.removed).map(domainName)
  const names = domain === undefined ? (active ?? config.domains) : [domain]
  const isNew = (name: string) => stored?.every((one) => domainName(one) !== name) ?? false
  const certificateUse = smtp.tlsCert === '' ? 'certificate' : 'nothing'
  const use = inspectServer ? certificateUse : 'mail'
  return {
    log,
    store,
    storeFault,
    inspectServer,
    settings: config,
    settingsReport: settings && settingsReport(settings, process.env),
    domains: names.filter((name) => !isExampleName(name)),
    exampleDomains: names.filter(isExampleName),
    newDomains: config.domains.filter(isNew),
    now: () => new Date(),
    dns,
    // Load balancers send a PROXY header to our own port only.
    connectSmtp: (host: string, port: number, signal: AbortSignal) =>
      connectSmtp({ host, port, signal, proxyFrom: port === smtp.port ? smtp.proxyFrom : [] }),
    httpGet: openHttpProbe(dns),
    /** The ports under which everybody reaches the service. */
    publicPorts: { smtp: 25, https: 443 },
    /** Addresses of this machine that others may be able to reach. */
    ownAddresses: machineAddresses().filter((ip) => !isPrivateIp(ip)),
    isPrivateIp,
    dataDirectory: () => inspectDataDirectory(data, { minFreeBytes, use }),
    verifyMailOut: verifyMailer,
    clockSynchronized,
  }
}

/** The context, and facts that several checks need, each established once. */
export type Facts<C extends CheckContext = CheckContext> = ReturnType<typeof openFacts<C>>

const timeout = () => AbortSignal.timeout(10_000)

export function openFacts<C extends CheckContext>(context: C) {
  const { settings, connectSmtp, publicPorts, isPrivateIp } = context
  const { hostname: host, port: ownPort } = settings.smtp
  const local = localAddress(settings.host)
  const ports = { httpPort: settings.http.port, smtpPort: ownPort }
  const { url: localUrl } = localEndpoints({ host: settings.host, ...ports })
  const dns: DnsProbe = {
    ...context.dns,
    mx: once(context.dns.mx),
    a: once(context.dns.a),
    aaaa: once(context.dns.aaaa),
    txt: once(context.dns.txt),
    tlsa: once(context.dns.tlsa),
  }

  async function addressesOf(name: string): Promise<string[]> {
    if (isIP(name) !== 0) return [name]
    return (await Promise.all([dns.a(name), dns.aaaa(name)])).flatMap(recordsOf)
  }
  const publicAddresses = async () =>
    (await addressesOf(host)).filter((address) => !isPrivateIp(address))
  const localSmtp = once(() => readGreeting(context, local, ownPort))
  /** Each public address of the host name, with what answers on the public port. */
  const publicSmtp = once(async () => {
    const addresses = await publicAddresses()
    return await Promise.all(addresses.map((ip) => readGreeting(context, ip, publicPorts.smtp)))
  })
  /** The service under its public name, else on its own port. */
  async function connect(stop: AbortSignal): Promise<SmtpClient> {
    const open = (await publicSmtp()).find((one) => greetsAs(host, one))
    return open
      ? await connectSmtp(open.address, publicPorts.smtp, stop)
      : await connectSmtp(local, ownPort, stop)
  }

  return {
    ...context,
    dns,
    host,
    localUrl,
    addressesOf,
    publicAddresses,
    localSmtp,
    publicSmtp,
    connect,
    /** HTTPS is served by the service itself, without a proxy. */
    servesTls: settings.acme.on && settings.http.trustProxy.length === 0,
    isRunning: async () => 'greeting' in (await localSmtp()),
    ...httpFacts(context, { dns, localUrl }),
    /** Why the certificate files of the settings cannot be used. */
    certificateFault: () => {
      const { tlsCert: cert, tlsKey: key } = settings.smtp
      return cert === '' ? undefined : certificateFault({ cert, key })
    },
    certificate: once(async () => {
      const smtp = await connect(timeout())
      try {
        await smtp.command(`EHLO ${host}`)
        return certificateOf(await smtp.startTls(host))
      } finally {
        smtp.close()
      }
    }),
  }
}

/** What HTTP servers respond: the service itself, the proxy, and the hosts of policies. */
function httpFacts(
  { settings, httpGet, publicPorts }: CheckContext,
  { dns, localUrl }: { dns: DnsProbe; localUrl: string },
) {
  const { baseUrl } = settings.http
  const metrics = once(async () => {
    const headers = { authorization: `Bearer ${settings.adminToken}` }
    const response = await httpGet(`${localUrl}/metrics`, { headers, signal: timeout() })
    return 'status' in response && response.status === 200 ? response.body : ''
  })

  return {
    /** The response to /api/domains. What is neither a list of domains nor an error of our API is another program. */
    localHttp: once(async (): Promise<HttpResponse> => {
      const response = await httpGet(`${localUrl}/api/domains`, { signal: timeout() })
      if ('error' in response) return response
      const isOurs = response.status === 200 || /"status":\s*"error"/.test(response.body)
      return isOurs ? response : { error: `status ${response.status}`, cause: 'network' }
    }),
    /** The value of a metric without labels, of the running service. */
    readMetric: async (name: string) => {
      const text = await metrics()
      const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(text) ?? []
      return value === undefined ? undefined : Number(value)
    },
    /** The MTA-STS policy of a domain; undefined if it has no record. */
    mtaStsPolicy: once(async (domain) => {
      const isUsed = recordsOf(await dns.txt(`_mta-sts.${domain}`)).some(isMtaSts)
      const url = mtaStsUrl(domain).replace('/.well', `:${publicPorts.https}/.well`)
      return isUsed ? await httpGet(url, { signal: timeout() }) : undefined
    }),
    /** Creates a session of this service for the operation, and ends it. */
    async withSession(use: (headers: Record<string, string>) => Promise<CheckResult>) {
      const post = (path: string, headers = {}) =>
        httpGet(`${localUrl}/api/${path}`, { method: 'POST', headers, signal: timeout() })
      const created = await post('create-session?ttl=60')
      const [, token] = /"token":\s*"([\w-]+)"/.exec('body' in created ? created.body : '') ?? []
      if (token === undefined) return skipped('no session can be created')
      const headers = { authorization: `Bearer ${token}` }
      return await use(headers).finally(() => post('delete-session', headers))
    },
    /** Not more than one request through the proxy. Over plain HTTP without the token: only the date is needed then. */
    throughProxy: once(async () => {
      const authorization = `Bearer ${settings.adminToken}`
      const headers = baseUrl.startsWith('https:') ? { authorization } : {}
      const response = await httpGet(`${baseUrl}/readyz`, { headers, signal: timeout() })
      return 'status' in response ? response : undefined
    }),
  }
}

function once<T>(find: (name: string) => Promise<T>) {
  const found = new Map<string, Promise<T>>()
  return (name = ''): Promise<T> => found.getOrInsertComputed(name, find)
}

async function readGreeting(
  { connectSmtp }: CheckContext,
  address: string,
  port: number,
): Promise<Greeting> {
  try {
    const smtp = await connectSmtp(address, port, timeout())
    smtp.close()
    return { address, greeting: smtp.greeting.text }
  } catch (error) {
    return { address, error: toError(error).message }
  }
}

function certificateOf(socket: TLSSocket): ServedCertificate {
  const leaf = socket.getPeerX509Certificate()
  if (!leaf) throw new Error('the server sent no certificate')
  const chain: X509Certificate[] = []
  for (let one: X509Certificate | undefined = leaf; one && !chain.includes(one); ) {
    chain.push(one)
    one = one.issuerCertificate
  }
  const names = (leaf.subjectAltName ?? '').matchAll(/\bDNS:([^,\s]+)/g)
  return {
    names: [...names].map(([, name = '']) => name),
    notBefore: new Date(leaf.validFrom),
    notAfter: new Date(leaf.validTo),
    untrusted: socket.authorized ? '' : String(socket.authorizationError),
    chain: chain.map((one) => ({
      der: one.raw,
      publicKey: one.publicKey.export({ type: 'spki', format: 'der' }),
    })),
  }
}

/** Settings of the environment that do not exist, most likely misspelt. */
export function settingsReport(
  settings: readonly { name: string; origin: string }[],
  env: NodeJS.ProcessEnv,
): SettingsReport {
  const known = new Set(settings.flatMap(({ name }) => [name, `${name}_FILE`]))
  return {
    count: settings.length,
    changed: settings.filter(({ origin }) => origin !== 'default').length,
    unknown: Object.keys(env).filter((name) => name.startsWith('MAYFLY_') && !known.has(name)),
  }
}
