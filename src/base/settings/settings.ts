import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseEnv } from 'node:util'
import { hasErrorCode, OperatorError, toError } from '../problem.ts'
import { type ParseValue, redactPasswords } from './values.ts'

/** The environment takes precedence over mayfly.config.json, which uses the same names. */
export interface SettingSource {
  env: Record<string, string | undefined>
  file: Record<string, unknown>
  /** Also in `env`, if their names start with MAYFLY_. */
  rejectsUnknown?: boolean
}

/** One line of `mayfly config`. */
interface Setting {
  name: string
  shown: string
  origin: 'environment' | 'file' | 'default'
  meaning: string
}

/** Names every invalid setting at once. */
export class SettingsError extends OperatorError {
  readonly problems: readonly string[]

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(`Invalid settings:\n${faults.map((fault) => `  ${fault}`).join('\n')}`, options)
    this.problems = faults
  }
}

const FILE = 'mayfly.config.json'

/** The environment, and mayfly.config.json in this folder if it exists. `check` may refuse to read it. */
export function loadSettings(
  cwd: string,
  env: SettingSource['env'],
  check: (path: string) => void = () => {},
): SettingSource {
  try {
    const path = join(cwd, FILE)
    if (existsSync(path)) check(path)
    return { env, file: parseFile(readIfExists(path)) }
  } catch (error) {
    throw new SettingsError([`${FILE}: ${toError(error).message}`], { cause: error })
  }
}

/**
 * What a service with this settings file uses: JSON, or NAME=value lines if its name does not end so. The file takes precedence, because
 * the environment of a command may differ from that of the service.
 */
export function settingsOfFile(
  path: string,
  content: string,
  env: SettingSource['env'],
): SettingSource {
  const file = parseSettings(path, content)
  const isGiven = new Set(settingNames(path, content).map(withoutSuffix))
  const others = Object.entries(env).filter(([name]) => !isGiven.has(withoutSuffix(name)))
  const rest = Object.fromEntries(others)
  // Only JSON rejects unknown names: the other file is the environment of a service.
  return isJson(path) ? { env: rest, file } : { env: { ...rest, ...textsOf(file) }, file: {} }
}

/** The values of a settings file by name. */
export function parseSettings(path: string, content: string): SettingSource['file'] {
  if (!isJson(path)) return parseEnv(content)
  try {
    return parseFile(content.trim() === '' ? undefined : content)
  } catch (error) {
    throw new SettingsError([`${basename(path)}: ${toError(error).message}`], { cause: error })
  }
}

/** The names that a settings file has a value for. */
export function settingNames(path: string, content: string): string[] {
  const values = Object.entries(parseSettings(path, content))
  return values.filter(([, value]) => fileValue(value) !== '').map(([name]) => name)
}

export const isJson = (path: string) => path.endsWith('.json')

/** A secret may also be in the file that NAME_FILE names. */
const withoutSuffix = (name: string) => name.replace(/_FILE$/, '')

export const textsOf = (file: SettingSource['file']) =>
  Object.fromEntries(Object.entries(file).map(([name, value]) => [name, fileValue(value)]))

export type SettingReader = ReturnType<typeof settingReader>

/** Reads settings one by one, remembers each for `mayfly config`, and collects all problems. */
export function settingReader(source: SettingSource) {
  const settings: Setting[] = []
  const problems: string[] = []
  const known = new Set<string>()

  function read<T>(
    name: string,
    find: typeof findValue,
    { parse, shown, fallback, meaning }: SettingOptions<T>,
  ): T {
    known.add(name)
    let found: (RawValue & { value: T }) | undefined
    try {
      const given = find(source, name)
      found = given && { ...given, value: parse(given.text) }
    } catch (error) {
      problems.push(`${name}: ${toError(error).message}`)
    }
    settings.push({
      name,
      shown: found ? shown(found) : fallback,
      origin: found?.origin ?? 'default',
      meaning,
    })
    return found ? found.value : parse(fallback)
  }

  return {
    settings: settings as readonly Setting[],
    /** The fallback is written as an operator would write it. */
    setting<T>(name: string, parse: ParseValue<T>, fallback: string, meaning: string): T {
      return read(name, findValue, { parse, shown: ({ text }) => text, fallback, meaning })
    },
    /** Empty by default. May also be in a file named by NAME_FILE. */
    secret(name: string, meaning: string): string {
      known.add(`${name}_FILE`)
      const parse = (text: string) => text
      return read(name, findSecret, { parse, shown: () => '(set)', fallback: '', meaning })
    },
    /** The URL of a server: like a secret, but shown without its password. */
    server(name: string, parse: ParseValue<string>, fallback: string, meaning: string): string {
      known.add(`${name}_FILE`)
      const shown = ({ value }: { value: string }) => redactPasswords(value)
      return read(name, findSecret, { parse, shown, fallback, meaning })
    },
    check(isValid: boolean, problem: string) {
      if (!isValid) problems.push(problem)
    },
    /** Throws one error that names every invalid setting. */
    throwIfInvalid() {
      const all = [...problems, ...unknownSettings(source, known)]
      if (all.length > 0) throw new SettingsError(all)
    },
  }
}

interface SettingOptions<T> {
  parse: ParseValue<T>
  shown(found: { text: string; value: T }): string
  fallback: string
  meaning: string
}

interface RawValue {
  text: string
  origin: 'environment' | 'file'
}

function findValue({ env, file }: SettingSource, name: string): RawValue | undefined {
  const given = env[name]
  // An empty variable counts as unset: that is how compose files and shells pass unset variables on.
  if (given !== undefined && given !== '') return { text: given, origin: 'environment' }
  const inFile = fileValue(file[name])
  return inFile === '' ? undefined : { text: inFile, origin: 'file' }
}

function findSecret(source: SettingSource, name: string): RawValue | undefined {
  const direct = findValue(source, name)
  const path = findValue(source, `${name}_FILE`)
  if (direct && path) throw new Error(`set either ${name} or ${name}_FILE, not both`)
  if (!path) return direct
  const content = readIfExists(path.text)?.trim()
  if (content === undefined) throw new Error(`file ${path.text} (from ${name}_FILE) does not exist`)
  // An empty secret would disable the protection.
  if (content === '') throw new Error(`file ${path.text} (from ${name}_FILE) is empty`)
  return { text: content, origin: path.origin }
}

/** As text, like a value of the environment; empty if there is none. */
export function fileValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(fileValue).join(',')
  if (typeof value === 'object') throw new Error(`must be a plain value in ${FILE}, not an object`)
  return String(value)
}

/** An unknown name in the file is a typo. In the environment it may belong to another program. */
function unknownSettings(
  { env, file, rejectsUnknown }: SettingSource,
  known: ReadonlySet<string>,
): string[] {
  const unknown = (names: string[]) => names.filter((name) => !known.has(name))
  const given = rejectsUnknown ? Object.keys(env).filter((name) => /^MAYFLY_/.test(name)) : []
  return [
    ...unknown(Object.keys(file)).map((name) => `${name}: unknown setting in ${FILE}`),
    ...unknown(given).map((name) => `${name}: unknown setting`),
  ]
}

function parseFile(content = '{}'): SettingSource['file'] {
  const parsed: unknown = JSON.parse(content)
  if (isRecord(parsed)) return parsed
  throw new Error('must contain one object, such as {"MAYFLY_HTTP_PORT": 8080}')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined
    if (!hasErrorCode(error, 'EACCES')) throw error
    const user = process.getuid?.()
    throw new Error(
      `user ${user} may not read ${path}: give it to the user of the service (chown ${user} ${path})`,
      { cause: error },
    )
  }
}

type Frozen<T> = T extends string | number | boolean ? T : { readonly [K in keyof T]: Frozen<T[K]> }

/** The value and everything in it can no longer be changed. */
export function frozen<T>(value: T): Frozen<T> {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) frozen(part)
    Object.freeze(value)
  }
  return value as Frozen<T>
}
