import { printable } from '../core/text.ts'
import { type JsonOption, type Print, printJson, table, wrapList } from './output.ts'

/** One setting as printed, without the values of secrets. */
export interface SettingLine {
  name: string
  shown: string
  origin: string
  meaning: string
}

export function printConfig(
  settings: readonly SettingLine[],
  { json }: JsonOption,
  print: Print,
): void {
  if (json) {
    printJson(
      settings.map(({ shown, ...rest }) => ({ ...rest, value: shown })),
      print,
    )
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
