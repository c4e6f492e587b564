import { isIP } from 'node:net'
import {
  type DomainName,
  type Host,
  isExampleName,
  parseAddress,
  parseDomainName,
  parseHost,
  parseMailDomain,
  sampleHost,
  withoutWildcard,
} from '../../base/address.ts'
import { CommandError, type Print } from '../../cli/output.ts'
import type { Ask } from '../../cli/prompt.ts'
import { isRelated } from '../rules/dns-records.ts'
import type { Machine } from './machine.ts'

export interface SetupOptions {
  domain?: string[]
  hostname?: string
  url?: string
  email?: string
  address?: string[]
  file?: string
  mtaSts?: boolean
  /** Undefined: asked for on a terminal, if it is possible. */
  acme?: boolean
  tlsRpt?: boolean
  dryRun?: boolean
}

/** `ask` is undefined without a terminal: then the options and what was found must suffice. */
export interface Dialogue {
  print: Print
  ask: Ask | undefined
}

export interface Answers {
  domains: DomainName[]
  host: Host
  /** Empty: none, as before. */
  url: string
  /** Undefined: the postmaster of each domain. */
  email: string | undefined
  addresses: string[]
  /** Where the CA writes to, if the service obtains its certificates itself. */
  acmeEmail: string | undefined
}

export async function readAnswers(
  machine: Machine,
  options: SetupOptions,
  { print, ask }: Dialogue,
): Promise<Answers> {
  /** On a terminal, an invalid answer is asked for again. `parse` returns undefined for it. */
  async function get<T>(
    [option, given]: readonly [name: string, given: string | undefined],
    [question, proposal]: readonly [text: string, proposal: string],
    [what, parse]: readonly [what: string, parse: (text: string) => T | undefined],
  ): Promise<T> {
    for (;;) {
      const answer = given ?? (ask ? await ask(question, proposal) : proposal)
      const value = parse(answer)
      if (value !== undefined) return value
      const fault = `${JSON.stringify(answer)} is not ${what}.`
      if (given !== undefined || !ask) throw new CommandError(`${option} ${fault}`, 2)
      print(fault)
    }
  }
  const current = parseDomains(machine.domains.filter((name) => !isExampleName(name)).join()) ?? []
  if (options.domain === undefined && current.length === 0 && !ask) {
    throw new CommandError('No domain given. Example: mayfly setup --domain box.example.org', 2)
  }
  const added = await get(
    ['--domain', options.domain?.join(',')],
    ['Mail domain', current.join(',')],
    ['a host name', parseDomains],
  )
  const domains = [...new Set([...current, ...added])]
  const [first = ''] = domains
  const host = await get(
    ['--hostname', options.hostname],
    ['Host name of this machine', proposeHost(machine, domains)],
    ['a host name', parseDomainName],
  )
  const isInstalled = hasInstallation(machine)
  const url = await get(
    ['--url', options.url],
    ['Public URL', machine.baseUrl || (isInstalled ? '' : `https://${withoutWildcard(first)}`)],
    ['an http(s) URL', (text) => (isInstalled && text === machine.baseUrl ? text : parseUrl(text))],
  )
  const postmaster = `postmaster@${sampleHost(first)}`
  const email = await get(
    ['--email', options.email],
    ['Email for reports', machine.reportEmail ?? postmaster],
    ['an email address', (text) => (parseAddress(text) ? text : undefined)],
  )
  const usesAcme = await readAcme(machine, options, { url, ask })
  const addresses = options.address ?? [...machine.addresses]
  const wrong = addresses.find((address) => isIP(address) === 0)
  if (wrong !== undefined) throw new CommandError(`--address "${wrong}" is not an IP address.`, 2)
  const acmeEmail = usesAcme ? email : undefined
  const reports = email === postmaster ? undefined : email
  return { domains, host, url, email: reports, addresses, acmeEmail }
}

/** Whether the service is to obtain its certificates itself. Proposed to a new installation if the ports are free. */
async function readAcme(
  machine: Machine,
  { acme }: SetupOptions,
  { url, ask }: Pick<Dialogue, 'ask'> & { url: string },
): Promise<boolean> {
  const isHttps = url.startsWith('https:') && publicHost(new URL(url).hostname) !== undefined
  if (acme && !isHttps)
    throw new CommandError('--acme needs a public URL such as https://box.example.org', 2)
  const isFree = [machine.port80, machine.port443].every(({ state }) => state === 'free')
  const isOffered = isHttps && isFree && !machine.hasAcme && !hasInstallation(machine)
  if (acme !== undefined || !ask || !isOffered) return acme ?? false
  return /^y/i.test(await ask('Obtain certificates and serve HTTPS without a proxy', 'yes'))
}

/** The file or the running service has the domains of an installation: what nobody asked for stays as it is. */
export function hasInstallation({
  domains,
  namesInFile,
  isInUse,
}: Pick<Machine, 'domains' | 'namesInFile' | 'isInUse'>): boolean {
  return isInUse || (namesInFile.includes('MAYFLY_DOMAINS') && !domains.every(isExampleName))
}

/** The name that is set or in use, a name of this machine if it is in our zone, else `mx.` and the first domain. */
export function proposeHost(
  machine: Pick<
    Machine,
    'hostname' | 'isHostnameGiven' | 'reverseNames' | 'domains' | 'namesInFile' | 'isInUse'
  >,
  domains: readonly string[],
): string {
  const { hostname, isHostnameGiven, reverseNames } = machine
  const isKept = isHostnameGiven
    ? parseDomainName(hostname) !== undefined
    : hasInstallation(machine) && publicHost(hostname) !== undefined
  if (isKept && !isExampleName(hostname)) return hostname
  const names = domains.map(withoutWildcard)
  const isOurs = (name: string) => names.some((domain) => isRelated(domain, name))
  return [hostname, ...reverseNames].find(isOurs) ?? `mx.${names[0]}`
}

/** Undefined for an IP address, and for a name that public DNS cannot have. */
export function publicHost(text: string): string | undefined {
  const host = parseHost(text)
  const isLocal = /(?:^|\.)(?:localhost|localdomain|local|internal|lan|home\.arpa)$/
  return host?.includes('.') && !isLocal.test(host) ? host : undefined
}

function parseDomains(text: string): DomainName[] | undefined {
  const names = text
    .trim()
    .split(/[\s,]+/)
    .map(parseMailDomain)
  return names.every((name) => name !== undefined) ? names : undefined
}

function parseUrl(text: string): string | undefined {
  const isPlain = /^https?:\/\/[^\s?#@]+$/.test(text)
  return isPlain && URL.canParse(text) ? text.replace(/\/+$/, '') : undefined
}
