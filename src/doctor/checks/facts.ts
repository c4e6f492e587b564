import { toError } from '../../base/problem.ts'
import { sameName } from '../rules/dns-rules.ts'
import type { ApiProblem } from '../rules/installation-rules.ts'
import { type Lookup, recordsOf } from '../rules/result.ts'
import type { ServedCertificate } from '../rules/tls-rules.ts'
import type { CheckContext, CheckedSettings } from './context.ts'

const ANY_ADDRESS = new Set(['', '::', '0.0.0.0'])
const TIMEOUT_MS = 10_000

/** Facts that several checks need, each established once. */
export type Facts = ReturnType<typeof openFacts>

export function openFacts(context: CheckContext) {
  const { settings, dns } = context
  const { hostname } = settings.smtp
  const local = localAddress(settings.host)
  const localUrl = localHttpUrl(settings)
  const once = openCache()

  const a = (host: string) => once(`a ${host}`, () => dns.a(host))
  const aaaa = (host: string) => once(`aaaa ${host}`, () => dns.aaaa(host))
  const mx = (domain: string) => once(`mx ${domain}`, () => dns.mx(domain))
  const txt = (name: string): Promise<Lookup<string>> => once(`txt ${name}`, () => dns.txt(name))
  const addresses = async (host: string): Promise<string[]> =>
    (await Promise.all([a(host), aaaa(host)])).flatMap(recordsOf)
  const tlsa = () => once('tlsa', () => dns.tlsa(`_25._tcp.${hostname}`))
  const localSmtp = () => once('local smtp', () => readGreeting(context, local, settings.smtp.port))
  const localHttp = () => once('local http', () => readDomains(context, localUrl))
  /** Each public address of the host name, with what answers on the public port. */
  const publicSmtp = () =>
    once('public smtp', async () => {
      const { smtp: port } = context.publicPorts
      const found = (await addresses(hostname)).filter((ip) => !context.isPrivateIp(ip))
      return await Promise.all(found.map((address) => readGreeting(context, address, port)))
    })
  /** Where the service can be reached from here: under its public name, else on its own port. */
  const reachable = () =>
    once('reachable', async (): Promise<{ address: string; port: number }> => {
      const open = (await publicSmtp()).find(
        (one) => 'greeting' in one && sameName(greetedName(one.greeting), hostname),
      )
      return open
        ? { address: open.address, port: context.publicPorts.smtp }
        : { address: local, port: settings.smtp.port }
    })

  return {
    localUrl,
    a,
    aaaa,
    mx,
    txt,
    tlsa,
    addresses,
    localSmtp,
    localHttp,
    publicSmtp,
    reachable,
    certificate: () => once('certificate', async () => readCertificate(context, await reachable())),
    isRunning: async (): Promise<boolean> => !('error' in (await localSmtp())),
  }
}

/** The address to connect to for a service that listens on `host`. */
export function localAddress(host: string): string {
  return ANY_ADDRESS.has(host) ? '127.0.0.1' : host
}

export function localHttpUrl({ host, http }: Pick<CheckedSettings, 'host' | 'http'>): string {
  const address = localAddress(host)
  return `http://${address.includes(':') ? `[${address}]` : address}:${http.port}`
}

function openCache() {
  const cache = new Map<string, Promise<unknown>>()
  return function once<T>(key: string, find: () => Promise<T>): Promise<T> {
    const known = cache.get(key) as Promise<T> | undefined
    const found = known ?? find()
    cache.set(key, found)
    // Whoever needs it sees the error.
    found.catch(() => {})
    return found
  }
}

/** The host name after the code of a greeting. */
export function greetedName(greeting: string): string {
  return /^220[ -](\S+)/.exec(greeting)?.[1] ?? ''
}

type Greeting = { address: string } & ({ greeting: string } | { error: string })

async function readGreeting(
  { connectSmtp }: CheckContext,
  address: string,
  port: number,
): Promise<Greeting> {
  try {
    const probe = await connectSmtp(address, port, AbortSignal.timeout(TIMEOUT_MS))
    probe.close()
    return { address, greeting: probe.greeting.text }
  } catch (error) {
    return { address, error: toError(error).message }
  }
}

type LocalHttp =
  | { domains: string }
  /** The service answers, but cannot list its domains. */
  | ApiProblem
  | { error: string }

/** An error of our API, such as that the store is unavailable; undefined if it is something else. */
export function readProblem(body: string): Omit<ApiProblem, 'status'> | undefined {
  try {
    const { status, code, message } = JSON.parse(body) as Record<string, unknown>
    const isOurs = status === 'error' && typeof code === 'string' && typeof message === 'string'
    return isOurs ? { code, message } : undefined
  } catch {
    return undefined
  }
}

/** The response to /api/domains, by which a service is recognized. */
async function readDomains({ httpGet }: CheckContext, url: string): Promise<LocalHttp> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const { status, body } = await httpGet(`${url}/api/domains`, { signal })
    if (status === 200) return { domains: body }
    const problem = readProblem(body)
    return problem ? { status, ...problem } : { error: `status ${status}` }
  } catch (error) {
    return { error: toError(error).message }
  }
}

async function readCertificate(
  { connectSmtp, settings }: CheckContext,
  { address, port }: { address: string; port: number },
): Promise<ServedCertificate> {
  const { hostname } = settings.smtp
  const probe = await connectSmtp(address, port, AbortSignal.timeout(TIMEOUT_MS))
  try {
    await probe.command(`EHLO ${hostname}`)
    return await probe.startTls(hostname)
  } finally {
    probe.close()
  }
}
