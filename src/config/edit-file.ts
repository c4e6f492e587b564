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
  const read = isJson(path) ? jsonValue(text) : (name: string) => envValue(text, name)
  return Object.entries(wanted)
    .map(([name, value]) => ({ name, value, before: read(name) }))
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
    return `${JSON.stringify({ ...parse(text), ...Object.fromEntries(values) }, null, 2)}\n`
  }
  return changes.reduce((edited, { name, value }) => editLine(edited, name, value), text)
}

function editLine(text: string, name: string, value: string): string {
  const line = `${name}=${value}`
  const ending = text === '' || text.endsWith('\n') ? '' : '\n'
  // A setting of the template is commented out.
  for (const old of [envLine(name), new RegExp(`^#[ \\t]*${name}=.*$`, 'm')]) {
    if (old.test(text)) return text.replace(old, () => line)
  }
  return `${text}${ending}${line}\n`
}

const isJson = (path: string) => path.endsWith('.json')
const envLine = (name: string) => new RegExp(`^[ \\t]*${name}=(.*)$`, 'm')

function envValue(text: string, name: string): string | undefined {
  const [, value] = envLine(name).exec(text) ?? []
  return value?.trim().replace(/^(["'])(.*)\1$/, '$2')
}

function jsonValue(text: string): (name: string) => string | undefined {
  const values = parse(text)
  return (name) => (values[name] === undefined ? undefined : String(values[name]))
}

function parse(text: string): Record<string, unknown> {
  return text.trim() === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}
