import { isIP, isIPv4, isIPv6 } from 'node:net'
import { type Host, parseHost } from '../core/address.ts'
import { isIpRange } from '../core/ip.ts'
import { parseDuration } from '../core/time.ts'

// Each parser takes the text of one setting, and throws what is wrong with it as the end of the sentence "NAME: …".

/** Takes the text of a setting to its value. */
export type ParseValue<T> = (text: string) => T

export function text(given: string): string {
  return given
}

export function flag(given: string): boolean {
  if (/^(1|true|on|yes)$/i.test(given)) return true
  if (/^(0|false|off|no)$/i.test(given)) return false
  throw new Error(`${quoted(given)} is neither on nor off`)
}

export function integer(least: number, most: number): ParseValue<number> {
  return (given) => {
    const value = /^\d{1,16}$/.test(given) ? Number(given) : Number.NaN
    if (value >= least && value <= most) return value
    throw new Error(`${quoted(given)} is no whole number from ${least} to ${most}`)
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

/** Whole seconds, of `90s`, `15m`, `24h` or `30d`; the bounds are written likewise. */
export function duration(least: string, most: string): ParseValue<number> {
  return bounded(parseSeconds, least, most)
}

/** How long a session or its mail may live. */
export function lifetime(given: string): number {
  return duration('1m', '3650d')(given)
}

/** Bytes, of `1000`, `500KB`, `10MB` or `1GB`; the bounds are written likewise. */
export function size(least: string, most = '8191TB'): ParseValue<number> {
  return bounded(parseBytes, least, most)
}

/** A size, or `auto`: what is right depends on the machine. */
export function sizeOrAuto(given: string): number | 'auto' {
  return given === 'auto' ? given : size('0')(given)
}

/** An http(s) address without its last slash, or nothing. */
export function webAddress(given: string): string {
  if (given === '') return ''
  const url = URL.parse(given)
  const plain = url?.search === '' && url.hash === '' && url.username + url.password === ''
  const fine = plain && /^https?:$/.test(url.protocol)
  if (!fine) throw new Error(`${quoted(given)} is no http(s) address`)
  return given.replace(/\/+$/, '')
}

/** `sqlite:`, or the address of a PostgreSQL. Never quoted when it is wrong: it may hold a password. */
export function storeAddress(given: string): string {
  if (given === 'sqlite:' || isServerUrl(given, /^postgres(ql)?:$/)) return given
  throw new Error('it is neither sqlite: nor an address such as postgres://user@host/database')
}

/** The address of a Redis, or of some masters of a Redis Cluster with commas between; one in a password is `%2C`. */
export function redisAddress(given: string): string {
  const all = parts(given)
  if (all.every((one) => isServerUrl(one, /^rediss?:$/) && isDecodable(one))) return all.join(',')
  throw new Error('it is no address such as redis://host:6379, or several with commas between')
}

function isServerUrl(given: string, protocol: RegExp): boolean {
  const url = URL.parse(given)
  // Without the slashes there is no host in it, and a password could not be told from the rest.
  return url !== null && protocol.test(url.protocol) && /^\w+:\/\//.test(given)
}

function isDecodable(given: string): boolean {
  try {
    return decodeURIComponent(given) !== ''
  } catch {
    return false
  }
}

/** Addresses of servers as they may be shown. A password may hold a comma; between two addresses a slash comes after it. */
export function redactPasswords(given: string): string {
  return given
    .replace(/\/\/([^/:@]*):[^/]*@/g, '//$1:…@')
    .replace(/(?<=[?&]\w*pass\w*=)[^&]*/gi, '…')
}

export function hostName(given: string): Host {
  const host = parseHost(given)
  if (host) return host
  throw new Error(`${quoted(given)} is no host name`)
}

/** Origins of web pages as a browser writes them, or `*`. */
export function webOrigins(given: string): string[] {
  const origins = parts(given)
  const bad = origins.find((origin) => origin !== '*' && URL.parse(origin)?.origin !== origin)
  if (bad !== undefined)
    throw new Error(`${quoted(bad)} is no origin such as https://app.example.com`)
  return origins
}

/** Names of mail domains, each once. */
export function mailDomains(given: string): Host[] {
  const names = parts(given).map((part) => {
    const host = parseHost(part)
    if (host?.includes('.')) return host
    throw new Error(`${quoted(part)} is no domain name`)
  })
  return [...new Set(names)]
}

/** IP addresses and CIDR ranges. */
export function ipRanges(given: string): string[] {
  const ranges = parts(given)
  const bad = ranges.find((part) => !isIpRange(part))
  if (bad !== undefined) throw new Error(`${quoted(bad)} is no IP address and no CIDR range`)
  return ranges
}

/** IP addresses, each with a port where it is not 53. */
export function dnsServers(given: string): string[] {
  const servers = parts(given)
  const bad = servers.find((server) => !isServer(server))
  if (bad === undefined) return servers
  throw new Error(`${quoted(bad)} is no address such as 9.9.9.9, 127.0.0.1:5353 or [::1]:5353`)
}

function isServer(server: string): boolean {
  if (isIP(server)) return true
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(server) ?? []
  const address = six ? isIPv6(six) : isIPv4(four ?? '')
  return address && Number(port) > 0 && Number(port) < 65_536
}

function bounded(parse: ParseValue<number>, least: string, most: string): ParseValue<number> {
  return (given) => {
    const value = parse(given)
    if (value >= parse(least) && value <= parse(most)) return value
    throw new Error(`${quoted(given)} is not within ${least} and ${most}`)
  }
}

function parseSeconds(given: string): number {
  const seconds = parseDuration(given)
  if (seconds !== undefined) return seconds
  throw new Error(`${quoted(given)} is no duration; write 90s, 15m, 24h or 30d`)
}

const UNITS = ['', 'k', 'm', 'g', 't']

function parseBytes(given: string): number {
  const [, count, unit = ''] = /^(\d{1,15})\s*(?:([kmgt]?)b)?$/i.exec(given) ?? []
  if (!count) throw new Error(`${quoted(given)} is no size; write 500KB, 10MB or 1GB`)
  return Number(count) * 1024 ** UNITS.indexOf(unit.toLowerCase())
}

/** What stands between commas. */
export function parts(given: string): string[] {
  return given
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Faults are printed and kept in logs: no password of an address, no line break, no endless text. */
function quoted(given: string): string {
  const clear = given.replace(/\/\/[^/@]*@/, '//…@')
  return JSON.stringify(clear.length > 100 ? `${clear.slice(0, 100)}…` : clear)
}
