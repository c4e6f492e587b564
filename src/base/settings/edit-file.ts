import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  lstatSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { OperatorError } from '../problem.ts'
import { fileValue, isJson, parseSettings, type SettingSource, textsOf } from './settings.ts'

/** One setting to write, and its value in the file so far. */
interface SettingChange {
  name: string
  value: string
  before: string | undefined
}

/** The text of a file with these settings, and those that change. Everything else is kept; throws if that cannot be guaranteed. */
export function editSettings(
  path: string,
  text: string,
  wanted: Readonly<Record<string, string>>,
): { changes: SettingChange[]; edited: string } {
  const current = parseSettings(path, text)
  const changes = Object.entries(wanted)
    .map(([name, value]) => ({ name, value, before: fileValue(current[name]) || undefined }))
    .filter(({ value, before }) => value !== before)
  if (changes.length === 0) return { changes, edited: text }
  const values = Object.fromEntries(changes.map(({ name, value }) => [name, value]))
  const edited = isJson(path) ? editJson(current, text, values) : editLines(text, values)
  const expected = textsOf({ ...current, ...values })
  if (isDeepStrictEqual(textsOf(parseSettings(path, edited)), expected)) return { changes, edited }
  const lines = changes.map(({ name, value }) => `  ${name}=${value}`).join('\n')
  throw new OperatorError(`${path} cannot be changed by this command. Edit it:\n${lines}`)
}

type Values = Readonly<Record<string, string>>

function editJson(current: SettingSource['file'], text: string, values: Values): string {
  const settings = { ...current }
  for (const [name, value] of Object.entries(values)) {
    settings[name] = Array.isArray(settings[name]) ? value.split(',') : value
  }
  const [indent = '  '] = /^[ \t]+(?=")/m.exec(text) ?? []
  return `${JSON.stringify(settings, null, indent)}\n`
}

function editLines(text: string, values: Values): string {
  return Object.entries(values).reduce(
    (edited, [name, value]) => editLine(edited, name, value),
    text,
  )
}

function editLine(text: string, name: string, plain: string): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const value = /[ \t#]/.test(plain) ? `"${plain}"` : plain
  const start = `^([ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=[ \\t]*)`
  // Up to the value, the value, and a comment after it. The last line of several counts.
  const line = new RegExp(
    `${start}(?:"[^"\\r\\n]*"|'[^'\\r\\n]*'|[^#\\r\\n]*?)([ \\t]*(?:#.*)?)$(?![^]*${start})`,
    'm',
  )
  if (line.test(text)) return text.replace(line, (_, before, after) => before + value + after)
  // A setting of the template is commented out: the value goes below it.
  const template = new RegExp(`^#[ \\t]*${name}=.*$`, 'm')
  const added = `${name}=${value}`
  if (template.test(text)) return text.replace(template, (found) => `${found}${newline}${added}`)
  const ending = text === '' || text.endsWith('\n') ? '' : newline
  return `${text}${ending}${added}${newline}`
}

/** Replaces a file as a whole, readable by those who may read the settings: only the owner if there are none yet. */
export function writeLike(settings: string, path: string, text: string): void {
  const like = statSync(settings, { throwIfNoEntry: false })
  // A symbolic link stays one.
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  const target = isLink ? realpathSync(path) : path
  const draft = `${target}.${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    if (like) {
      const { uid, gid } = statSync(draft)
      if (uid !== like.uid || gid !== like.gid) chownSync(draft, like.uid, like.gid)
      chmodSync(draft, like.mode & (path === settings ? 0o777 : 0o640))
    }
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
