import { printable } from '../core/text.ts'
import { type Print, table, wrapList } from './output.ts'

/** One setting as it is told: a secret's value is not in it. */
export interface SettingLine {
  name: string
  shown: string
  origin: string
  meaning: string
}

/** `mayfly config`: every setting, its value, where that came from, and what it means. */
export function printConfig(
  settings: readonly SettingLine[],
  { json }: { json?: boolean },
  print: Print,
): void {
  if (json) {
    const plain = settings.map(({ shown, ...rest }) => ({ ...rest, value: shown }))
    print(JSON.stringify(plain, null, 2))
    return
  }
  const rows = settings.map(({ name, shown, origin, meaning }) => [
    name,
    wrapList(printable(shown), 32) || '-',
    origin,
    meaning,
  ])
  for (const line of table([['SETTING', 'VALUE', 'FROM', 'MEANING'], ...rows])) print(line)
}
