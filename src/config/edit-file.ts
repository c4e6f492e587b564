import { fileValue, isJson, parseSettings } from './settings.ts'

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
  const values = parseSettings(path, text)
  return Object.entries(wanted)
    .map(([name, value]) => ({ name, value, before: fileValue(values[name]) || undefined }))
    .filter(({ value, before }) => value !== before)
}

/** The text of the file with these changes: JSON for a name that ends so, else NAME=value lines. Everything else is kept. */
export function editSettings(
  path: string,
  text: string,
  changes: readonly SettingChange[],
): string {
  if (isJson(path)) {
    const values = changes.map(({ name, value }) => [name, value])
    return `${JSON.stringify({ ...parseSettings(path, text), ...Object.fromEntries(values) }, null, 2)}\n`
  }
  return changes.reduce((edited, { name, value }) => editLine(edited, name, value), text)
}

function editLine(text: string, name: string, value: string): string {
  const line = `${name}=${value}`
  // A setting of the template is commented out.
  const old = lastLine(text, name) ?? new RegExp(`^#[ \\t]*${name}=.*$`, 'm').exec(text)
  if (old) return `${text.slice(0, old.index)}${line}${text.slice(old.index + old[0].length)}`
  const ending = text === '' || text.endsWith('\n') ? '' : '\n'
  return `${text}${ending}${line}\n`
}

/** Of several lines, the last one counts. */
function lastLine(text: string, name: string): RegExpExecArray | undefined {
  return [...text.matchAll(new RegExp(`^[ \\t]*${name}=(.*)$`, 'gm'))].at(-1)
}
