import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ParseValue, redactPasswords } from './values.ts'

/** Environment over the parsed mayfly.config.json over defaults; both use the same names. */
export interface SettingSource {
  env: Record<string, string | undefined>
  file: Record<string, unknown>
}

/** One line of `mayfly config`. */
interface Setting {
  name: string
  shown: string
  origin: 'environment' | 'file' | 'default'
  meaning: string
}

/** Every bad setting at once. */
export class SettingsError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(`These settings are wrong:\n${faults.map((fault) => `  ${fault}`).join('\n')}`, options)
    this.faults = faults
  }
}

const FILE = 'mayfly.config.json'

/** The environment, and mayfly.config.json of that folder when there is one. */
export function loadSettings(cwd: string, env: SettingSource['env']): SettingSource {
  try {
    return { env, file: parseFile(readIfThere(join(cwd, FILE))) }
  } catch (error) {
    throw new SettingsError([`${FILE}: ${sentence(error)}`], { cause: error })
  }
}

export type SettingReader = ReturnType<typeof settingReader>

/** Reads settings one by one, remembers each for `mayfly config`, and collects the faults. */
export function settingReader(source: SettingSource) {
  const settings: Setting[] = []
  const faults: string[] = []
  const known = new Set<string>()

  /** The fallback is written as a user would write it. */
  function setting<T>(name: string, parse: ParseValue<T>, fallback: string, meaning: string): T {
    known.add(name)
    const found = settle(name, () => {
      const given = find(source, name)
      return given && { ...given, value: parse(given.text) }
    })
    settings.push({
      name,
      shown: found?.text ?? fallback,
      origin: found?.origin ?? 'default',
      meaning,
    })
    return found ? found.value : parse(fallback)
  }

  /** Empty when not given. May also stand in a file that NAME_FILE names. */
  function secret(name: string, meaning: string): string {
    return hidden(name, { parse: (given) => given, shown: () => '(set)', fallback: '', meaning })
  }

  /** The address of a server: as a secret, for it may hold a password, but all the rest of it is shown. */
  function server(
    name: string,
    parse: ParseValue<string>,
    fallback: string,
    meaning: string,
  ): string {
    return hidden(name, { parse, shown: redactPasswords, fallback, meaning })
  }

  function hidden(name: string, { parse, shown, fallback, meaning }: Hidden): string {
    known.add(name).add(`${name}_FILE`)
    const found = settle(name, () => {
      const given = findSecret(source, name)
      return given && { ...given, text: parse(given.text) }
    })
    settings.push({
      name,
      shown: found ? shown(found.text) : fallback,
      origin: found?.origin ?? 'default',
      meaning,
    })
    return found?.text ?? fallback
  }

  function settle<T>(name: string, read: () => T | undefined): T | undefined {
    try {
      return read()
    } catch (error) {
      faults.push(`${name}: ${sentence(error)}`)
      return undefined
    }
  }

  return {
    settings: settings as readonly Setting[],
    setting,
    secret,
    server,
    check(fine: boolean, fault: string) {
      if (!fine) faults.push(fault)
    },
    /** Throws one error that names every bad setting. */
    done() {
      const all = [...faults, ...strangers(source.file, known)]
      if (all.length > 0) throw new SettingsError(all)
    },
  }
}

interface Hidden {
  parse: ParseValue<string>
  shown(text: string): string
  fallback: string
  meaning: string
}

interface Given {
  text: string
  origin: 'environment' | 'file'
}

function find({ env, file }: SettingSource, name: string): Given | undefined {
  const given = env[name]
  // An empty variable counts as not given: that is how compose files and shells pass on what is not set.
  if (given !== undefined && given !== '') return { text: given, origin: 'environment' }
  const filed = filedText(file[name])
  return filed === '' ? undefined : { text: filed, origin: 'file' }
}

function findSecret(source: SettingSource, name: string): Given | undefined {
  const direct = find(source, name)
  const path = find(source, `${name}_FILE`)
  if (direct && path) throw new Error(`give it or ${name}_FILE, not both`)
  if (!path) return direct
  const content = readIfThere(path.text)?.trim()
  if (content === undefined) throw new Error(`${name}_FILE names ${path.text}, which is not there`)
  // An empty secret would open what it is meant to close.
  if (content === '') throw new Error(`${name}_FILE names ${path.text}, which is empty`)
  return { text: content, origin: path.origin }
}

function filedText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(filedText).join(',')
  if (typeof value === 'object') throw new Error(`${FILE} gives an object; give a plain value`)
  return String(value)
}

/** In the file a name we do not know is a slip. In the environment it may be somebody else's. */
function strangers(file: SettingSource['file'], known: ReadonlySet<string>): string[] {
  return Object.keys(file)
    .filter((name) => !known.has(name))
    .map((name) => `${name}: ${FILE} sets it, but there is no such setting`)
}

function parseFile(content = '{}'): SettingSource['file'] {
  const parsed: unknown = JSON.parse(content)
  if (isRecord(parsed)) return parsed
  throw new Error('it must hold one object, such as {"MAYFLY_HTTP_PORT": 8080}')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
