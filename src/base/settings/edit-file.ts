import { isDeepStrictEqual } from 'node:util'
import { OperatorError } from '../problem.ts'
import { fileValue, isJson, parseSettings, type SettingSource } from './settings.ts'

type FileSettings = SettingSource['file']

/** One setting to write, and its value in the file so far. */
export interface SettingChange {
  name: string
  value: string
  before: string | undefined
}

/** The settings of a file whose value would change; those that have it already are left out. */
export function settingChanges(
  path: string,
  text: string,
  wanted: Readonly<Record<string, string>>,
): SettingChange[] {
  const current = parseSettings(path, text)
  return Object.entries(wanted)
    .map(([name, value]) => ({ name, value, before: fileValue(current[name]) || undefined }))
    .filter(({ value, before }) => value !== before)
}

/** The text of the file with these changes. Everything else is kept; throws if that cannot be guaranteed. */
export function editSettings(
  path: string,
  text: string,
  changes: readonly SettingChange[],
): string {
  if (changes.length === 0) return text
  const edited = isJson(path) ? editJson(path, text, changes) : editLines(text, changes)
  const values = changes.map(({ name, value }) => [name, value])
  const wanted = { ...parseSettings(path, text), ...Object.fromEntries(values) }
  if (!isDeepStrictEqual(asTexts(parseSettings(path, edited)), asTexts(wanted))) {
    const lines = changes.map(({ name, value }) => `  ${name}=${value}`).join('\n')
    throw new OperatorError(`${path} cannot be changed by this command. Edit it:\n${lines}`)
  }
  return edited
}

function asTexts(settings: FileSettings): Record<string, string> {
  const entries = Object.entries(settings).map(([name, value]) => [name, fileValue(value)])
  return Object.fromEntries(entries)
}

function editJson(path: string, text: string, changes: readonly SettingChange[]): string {
  const settings = { ...parseSettings(path, text) }
  for (const { name, value } of changes) {
    settings[name] = Array.isArray(settings[name]) ? value.split(',') : value
  }
  const [indent = '  '] = /^[ \t]+(?=")/m.exec(text) ?? []
  return `${JSON.stringify(settings, null, indent)}\n`
}

function editLines(text: string, changes: readonly SettingChange[]): string {
  return changes.reduce((edited, { name, value }) => editLine(edited, name, quoted(value)), text)
}

function editLine(text: string, name: string, value: string): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const old = lastLine(text, name)
  if (old) {
    const [line, start = '', , end = ''] = old
    return splice(text, old.index, line.length, `${start}${value}${end}`)
  }
  // A setting of the template is commented out: the value goes below it.
  const template = new RegExp(`^#[ \\t]*${name}=.*$`, 'm').exec(text)
  if (template) {
    const end = template.index + template[0].length
    return splice(text, end, 0, `${newline}${name}=${value}`)
  }
  const ending = text === '' || text.endsWith('\n') ? '' : newline
  return `${text}${ending}${name}=${value}${newline}`
}

function splice(text: string, start: number, length: number, inserted: string): string {
  return `${text.slice(0, start)}${inserted}${text.slice(start + length)}`
}

/** The line that counts, which is the last one: up to the value, the value, and a comment after it. */
function lastLine(text: string, name: string): RegExpExecArray | undefined {
  const start = `^([ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=[ \\t]*)`
  const line = new RegExp(
    `${start}("[^"\\r\\n]*"|'[^'\\r\\n]*'|[^#\\r\\n]*?)([ \\t]*(?:#.*)?)$`,
    'gm',
  )
  return [...text.matchAll(line)].at(-1)
}

const quoted = (value: string) => (/[ \t#]/.test(value) ? `"${value}"` : value)
