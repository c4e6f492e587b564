import { isIP, isIPv4, isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import { type DomainName, type Host, parseHost, parseMailDomain } from '../address.ts'
import { isIpRange } from '../ip.ts'
import { parseDuration } from '../time.ts'

// Each parser takes the text of one setting. Its errors complete the sentence "NAME: …".

export type ParseValue<T> = (text: string) => T

export function text(given: string): string {
  return given
}

export function flag(given: string): boolean {
  if (/^(1|true|on|yes)$/i.test(given)) return true
  if (/^(0|false|off|no)$/i.test(given)) return false
  throw new Error(`${quoted(given)} is not on or off`)
}

export function integer(min: number, max: number): ParseValue<number> {
  return (given) => {
    const value = /^\d{1,16}$/.test(given) ? Number(given) : Number.NaN
    if (value >= min && value <= max) return value
    throw new Error(`${quoted(given)} is not a whole number from ${min} to ${max}`)
  }
}

export function choice<const C extends string>(...choices: C[]): ParseValue<C> {
  return (given) => {
    const found = choices.find((one) => one === given)
    if (found !== undefined) return found
    const all = choices.map(quoted).join(', ')
    throw new Error(`${quoted(given)} is not ${choices.length > 1 ? 'one of ' : ''}${all}`)
  }
}

/** Whole seconds from `90s`, `15m`, `24h` or `30d`, as are the bounds. */
export function duration(min: string, max: string): ParseValue<number> {
  return bounded(parseSeconds, min, max)
}

/** Lifetime of a session or its mail. */
export function lifetime(given: string): number {
  return duration('1m', '3650d')(given)
}

/** Bytes from `1000`, `500KB`, `10MB` or `1GB`, as are the bounds. */
export function size(min: string, max = '8191TB'): ParseValue<number> {
  return bounded(parseBytes, min, max)
}

export function sizeOrAuto(given: string): number | 'auto' {
  return given === 'auto' ? given : size('0')(given)
}

/** An HTTP URL without its trailing slash, or nothing. */
export function httpUrl(given: string): string {
  if (given === '') return ''
  const url = URL.parse(given)
  const isPlain = url?.search === '' && url.hash === '' && url.username + url.password === ''
  const isValid = isPlain && /^https?:$/.test(url.protocol)
  if (!isValid) throw new Error(`${quoted(given)} is not an http(s) URL`)
  return given.replace(/\/+$/, '')
}

/** `sqlite:` or a PostgreSQL URL. Never quoted in errors: it may contain a password. */
export function storeUrl(given: string): string {
  if (given === 'sqlite:' || isServerUrl(given, /^postgres(ql)?:$/)) return given
  throw new Error('must be sqlite: or a URL such as postgres://user@host/database')
}

/** One Redis URL, or nothing. A comma in its password is `%2C`, so that a list of URLs is recognized. */
export function redisUrl(given: string): string {
  if (given.includes(',')) {
    throw new Error(
      'must be one URL such as redis://host:6379: a Redis Cluster is no longer supported (a comma in a password is %2C)',
    )
  }
  if (given === '' || (isServerUrl(given, /^rediss?:$/) && isDecodable(given))) return given
  throw new Error('must be a URL such as redis://host:6379')
}

function isServerUrl(given: string, protocol: RegExp): boolean {
  const url = URL.parse(given)
  // Without the slashes there is no host, and a password could not be recognized.
  return url !== null && protocol.test(url.protocol) && /^\w+:\/\//.test(given)
}

function isDecodable(given: string): boolean {
  try {
    return decodeURIComponent(given) !== ''
  } catch {
    return false
  }
}

/** A server URL without its password. */
export function redactPasswords(given: string): string {
  return given
    .replace(/\/\/([^/:@]*):[^/]*@/, '//$1:…@')
    .replace(/(?<=[?&]\w*pass\w*=)[^&]*/gi, '…')
}

export function hostName(given: string): Host {
  const host = parseHost(given)
  if (host) return host
  throw new Error(`${quoted(given)} is not a host name`)
}

/** Origins as browsers send them, or `*`. */
export function origins(given: string): string[] {
  const origins = commaSeparated(given)
  const bad = origins.find((origin) => origin !== '*' && URL.parse(origin)?.origin !== origin)
  if (bad !== undefined)
    throw new Error(`${quoted(bad)} is not an origin such as https://app.example.com`)
  return origins
}

/** Mail domains, also `*.box.test`, without duplicates. */
export function mailDomains(given: string): DomainName[] {
  const names = commaSeparated(given).map((part) => {
    const name = parseMailDomain(part)
    if (name) return name
    throw new Error(`${quoted(part)} is not a domain name`)
  })
  return [...new Set(names)]
}

export function ipRanges(given: string): string[] {
  const ranges = commaSeparated(given)
  const bad = ranges.find((part) => !isIpRange(part))
  if (bad !== undefined) throw new Error(`${quoted(bad)} is not an IP address or CIDR range`)
  return ranges
}

/** IP addresses, with a port unless it is 53. */
export function dnsServers(given: string): string[] {
  const servers = commaSeparated(given)
  const bad = servers.find((server) => !isDnsServer(server))
  if (bad === undefined) return servers
  throw new Error(`${quoted(bad)} is not an address such as 9.9.9.9, 127.0.0.1:5353 or [::1]:5353`)
}

function isDnsServer(server: string): boolean {
  if (isIP(server)) return true
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(server) ?? []
  const address = six ? isIPv6(six) : isIPv4(four ?? '')
  return address && Number(port) > 0 && Number(port) < 65_536
}

function bounded(parse: ParseValue<number>, min: string, max: string): ParseValue<number> {
  return (given) => {
    const value = parse(given)
    if (value >= parse(min) && value <= parse(max)) return value
    throw new Error(`${quoted(given)} is not between ${min} and ${max}`)
  }
}

function parseSeconds(given: string): number {
  const seconds = parseDuration(given)
  if (seconds !== undefined) return seconds
  throw new Error(`${quoted(given)} is not a duration such as 90s, 15m, 24h or 30d`)
}

const UNITS = ['', 'k', 'm', 'g', 't']

function parseBytes(given: string): number {
  const [, count, unit = ''] = /^(\d{1,15})\s*(?:([kmgt]?)b)?$/i.exec(given) ?? []
  if (!count) throw new Error(`${quoted(given)} is not a size such as 500KB, 10MB or 1GB`)
  return Number(count) * 1024 ** UNITS.indexOf(unit.toLowerCase())
}

export function commaSeparated(given: string): string[] {
  return given
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Errors are printed and logged: no password of a URL, no line breaks, limited length. */
export function quoted(given: string): string {
  const clear = given.replace(/\/\/[^/@]*@/, '//…@')
  return JSON.stringify(clear.length > 100 ? `${clear.slice(0, 100)}…` : clear)
}

/** A number of threads; auto: one less than cores, which leaves one to the writers, up to a limit. */
export function threads(most: number): (given: string) => number {
  const count = integer(1, 64)
  // Several threads share a port with SO_REUSEPORT, which Node supports on Linux but not on macOS.
  const cores = process.platform === 'linux' ? availableParallelism() : 1
  return (given) => (given === 'auto' ? Math.max(1, Math.min(cores - 1, most)) : count(given))
}

export const port = integer(0, 65_535)
