import { readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { type Host, parseHost } from './core/address.ts'

/** Environment over the parsed mayfly.config.json over defaults; both use the same names. */
export interface SettingSource {
  env: Record<string, string | undefined>
  file: Record<string, unknown>
}

/** One line of `mayfly config`. */
export interface Setting {
  name: string
  shown: string
  origin: 'environment' | 'file' | 'default'
  meaning: string
}

/** Reads settings one by one, remembers each for `mayfly config`, and collects the faults. */
export function settingReader({ env, file }: SettingSource) {
  const settings: Setting[] = []
  const faults: string[] = []

  function find(name: string): { text: string; origin: Setting['origin'] } | undefined {
    const fromFile = env[`${name}_FILE`]
    if (fromFile) return { text: readFileSync(fromFile, 'utf8').trim(), origin: 'environment' }
    const given = env[name]
    if (given !== undefined && given !== '') return { text: given, origin: 'environment' }
    const filed = file[name]
    if (filed === undefined || filed === null || filed === '') return undefined
    return { text: Array.isArray(filed) ? filed.join(',') : String(filed), origin: 'file' }
  }

  /** parse throws a text that completes "NAME: …". */
  function read<T>(
    name: string,
    meaning: string,
    fallback: T,
    parse: (text: string) => T,
    show: (value: T) => string = String,
  ): T {
    let value = fallback
    let origin: Setting['origin'] = 'default'
    try {
      const found = find(name)
      if (found) {
        value = parse(found.text)
        origin = found.origin
      }
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
    settings.push({ name, shown: show(value), origin, meaning })
    return value
  }

  return {
    settings: settings as readonly Setting[],
    text: (name: string, fallback: string, meaning: string) =>
      read(name, meaning, fallback, (text) => text),
    secret: (name: string, meaning: string) =>
      read(
        name,
        meaning,
        '',
        (text) => text,
        (value) => (value === '' ? '' : '(set)'),
      ),
    integer: (name: string, fallback: number, [least, most]: [number, number], meaning: string) =>
      read(name, meaning, fallback, (text) =>
        inRange(/^\d+$/.test(text) ? Number(text) : Number.NaN, least, most, text),
      ),
    flag: (name: string, fallback: boolean, meaning: string) =>
      read(name, meaning, fallback, parseFlag, (value) => (value ? 'on' : 'off')),
    choice: <const C extends string>(
      name: string,
      choices: readonly [C, ...C[]],
      meaning: string,
    ): C => read<C>(name, meaning, choices[0], (text) => oneOf(choices, text)),
    /** Whole seconds. */
    seconds: (name: string, fallback: string, meaning: string, [least, most]: [number, number]) =>
      read(
        name,
        meaning,
        parseSeconds(fallback),
        (text) => inRange(parseSeconds(text), least, most, text),
        showSeconds,
      ),
    bytes,
    url: (name: string, meaning: string) => read(name, meaning, '', parseUrl),
    hosts: (name: string, fallback: Host[], meaning: string) =>
      read(name, meaning, fallback, parseHosts, (value) => value.join(',')),
    addresses: (name: string, meaning: string) =>
      read<string[]>(name, meaning, [], parseRanges, (value) => value.join(',')),
    check(fine: boolean, fault: string) {
      if (!fine) faults.push(fault)
    },
    /** Throws one error that names every bad setting. */
    done() {
      const known = new Set(settings.map((setting) => setting.name))
      for (const name of Object.keys(file)) {
        if (!known.has(name))
          faults.push(`${name}: mayfly.config.json sets it, but there is no such setting`)
      }
      if (faults.length > 0) throw new SettingsError(faults)
    },
  }

  function bytes(name: string, fallback: number, meaning: string, range?: [number, number]): number
  function bytes(name: string, fallback: 'auto', meaning: string): number | 'auto'
  function bytes(
    name: string,
    fallback: number | 'auto',
    meaning: string,
    [least, most] = [0, Number.MAX_SAFE_INTEGER],
  ) {
    return read(name, meaning, fallback, (text) =>
      text === 'auto' && fallback === 'auto' ? text : inRange(parseBytes(text), least, most, text),
    )
  }
}

/** Every bad setting at once. */
export class SettingsError extends Error {
  constructor(faults: string[]) {
    super(`These settings are wrong:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
  }
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }
const BYTES: Record<string, number> = {
  '': 1,
  b: 1,
  kb: 1024,
  mb: 1024 ** 2,
  gb: 1024 ** 3,
  tb: 1024 ** 4,
}

function parseSeconds(text: string): number {
  const [, count, unit = ''] = /^(\d{1,10})([smhd])$/.exec(text) ?? []
  if (!count) throw new Error(`"${text}" is no duration; write 90s, 15m, 24h or 30d`)
  return Number(count) * (SECONDS[unit] ?? 1)
}

function showSeconds(seconds: number): string {
  const unit =
    ['d', 'h', 'm'].find((name) => seconds > 0 && seconds % (SECONDS[name] ?? 1) === 0) ?? 's'
  return `${seconds / (SECONDS[unit] ?? 1)}${unit}`
}

function parseBytes(text: string): number {
  const [, count, unit = ''] = /^(\d{1,15})\s*([kmgt]?b)?$/i.exec(text) ?? []
  if (!count) throw new Error(`"${text}" is no size; write 500KB, 10MB or 1GB`)
  return Number(count) * (BYTES[unit.toLowerCase()] ?? 1)
}

function parseFlag(text: string): boolean {
  if (/^(1|true|on|yes)$/i.test(text)) return true
  if (/^(0|false|off|no)$/i.test(text)) return false
  throw new Error(`"${text}" is neither on nor off`)
}

function oneOf<C extends string>(choices: readonly C[], text: string): C {
  const found = choices.find((choice) => choice === text)
  if (found === undefined) throw new Error(`"${text}" is none of ${choices.join(', ')}`)
  return found
}

function inRange(value: number, least: number, most: number, text: string): number {
  if (!(value >= least && value <= most))
    throw new Error(`"${text}" is not within ${least} and ${most}`)
  return value
}

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new Error(`"${text}" is no http(s) address`)
  return text.replace(/\/+$/, '')
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function parseHosts(text: string): Host[] {
  return list(text).map((part) => {
    const host = parseHost(part)
    if (!host?.includes('.')) throw new Error(`"${part}" is no domain name`)
    return host
  })
}

function parseRanges(text: string): string[] {
  return list(text).map((part) => {
    const [address = '', bits, ...rest] = part.split('/')
    const family = isIP(address)
    const most = family === 6 ? 128 : 32
    const fine =
      family !== 0 &&
      rest.length === 0 &&
      (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
    if (!fine) throw new Error(`"${part}" is no IP address and no CIDR range`)
    return part
  })
}

/** Answers whether an address lies in one of the ranges. */
export function rangeTest(ranges: readonly string[]): (address: string) => boolean {
  const blocks = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    blocks.addSubnet(
      address,
      bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits),
      family,
    )
  }
  return (address) =>
    isIP(address) !== 0 && blocks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
