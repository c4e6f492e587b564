import { isIP } from 'node:net'
import {
  type Host,
  isExampleName,
  parseAddress,
  parseDomainName,
  parseHost,
} from '../../base/address.ts'
import { CommandError, type Print } from '../../cli/output.ts'
import type { Ask } from '../../cli/prompt.ts'
import { isRelated } from '../rules/dns-records.ts'
import type { Machine, SetupOptions } from './setup.ts'

/** `ask` is undefined without a terminal: then the options and what was found must suffice. */
export interface Dialogue {
  print: Print
  ask: Ask | undefined
}

export interface Answers {
  domains: Host[]
  host: Host
  /** Empty: none, as before. */
  url: string
  /** Undefined: the postmaster of each domain. */
  email: string | undefined
  addresses: string[]
}

export async function readAnswers(
  machine: Machine,
  options: SetupOptions,
  { print, ask }: Dialogue,
): Promise<Answers> {
  const current = machine.domains.filter((name) => !isExampleName(name))
  const get = async <T>(
    [option, given]: readonly [name: string, given: string | undefined],
    [question, proposal]: readonly [text: string, proposal: string],
    parse: Parse<T>,
  ) => {
    if (given !== undefined || !ask) return parse(given ?? proposal, `${option} `)
    for (;;) {
      try {
        return parse(await ask(question, proposal), '')
      } catch (error) {
        if (!(error instanceof CommandError) || error.exitCode !== INVALID) throw error
        print(error.message)
      }
    }
  }
  if (options.domain === undefined && current.length === 0 && !ask) {
    throw new CommandError('No domain given. Example: mayfly setup --domain box.example.org', 2)
  }
  const added = await get(
    ['--domain', options.domain?.join(',')],
    ['Mail domain', current.join(',')],
    parseDomains,
  )
  const domains = [...new Set([...current.map((name) => parseHostName(name, '')), ...added])]
  const [first = ''] = domains
  const host = await get(
    ['--hostname', options.hostname],
    ['Host name of this machine', proposeHost(machine, domains)],
    parseHostName,
  )
  const url = await get(
    ['--url', options.url],
    ['Public URL', machine.baseUrl || (hasInstallation(machine) ? '' : `https://${first}`)],
    (text, option) =>
      hasInstallation(machine) && text === machine.baseUrl ? text : parseUrl(text, option),
  )
  const postmaster = `postmaster@${first}`
  const email = await get(
    ['--email', options.email],
    ['Email for reports', machine.reportEmail ?? postmaster],
    parseEmail,
  )
  const addresses = options.address ?? [...machine.addresses]
  for (const address of addresses) parseIp(address, '--address ')
  return { domains, host, url, email: email === postmaster ? undefined : email, addresses }
}

/** `option` is the beginning of the error; empty on a terminal, where an invalid answer is asked for again. */
type Parse<T> = (text: string, option: string) => T

// The exit status for an invalid command line.
const INVALID = 2

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
  const names = [hostname, ...reverseNames]
  const isOurs = (name: string) => domains.some((domain) => isRelated(domain, name))
  return names.find(isOurs) ?? `mx.${domains[0]}`
}

/** Undefined for an IP address, and for a name that public DNS cannot have. */
export function publicHost(text: string): string | undefined {
  const host = parseHost(text)
  const isLocal = /(?:^|\.)(?:localhost|localdomain|local|internal|lan|home\.arpa)$/
  return host?.includes('.') && !isLocal.test(host) ? host : undefined
}

function parseDomains(text: string, option: string): Host[] {
  const names = text.trim().split(/[\s,]+/)
  return names.map((name) => parseHostName(name, option))
}

function parseHostName(text: string, option: string): Host {
  const name = parseDomainName(text)
  if (name) return name
  throw invalid(text, option, 'a host name')
}

function parseUrl(text: string, option: string): string {
  const isPlain = /^https?:\/\/[^\s?#@]+$/.test(text)
  if (isPlain && URL.canParse(text)) return text.replace(/\/+$/, '')
  throw invalid(text, option, 'an http(s) URL')
}

function parseEmail(text: string, option: string): string {
  if (parseAddress(text)) return text
  throw invalid(text, option, 'an email address')
}

function parseIp(text: string, option: string): string {
  if (isIP(text) !== 0) return text
  throw invalid(text, option, 'an IP address')
}

function invalid(text: string, option: string, what: string): CommandError {
  return new CommandError(`${option}${JSON.stringify(text)} is not ${what}.`, INVALID)
}
