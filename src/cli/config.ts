import { printable } from '../core/text.ts'
import { type JsonOption, type Print, printJson, table, wrapList } from './output.ts'

/** One setting as printed, without the values of secrets. */
export interface SettingLine {
  name: string
  shown: string
  origin: string
  meaning: string
}

export function printConfig(settings: readonly SettingLine[], { json }: JsonOption, print: Print) {
  const values = settings.map(({ shown, ...rest }) => ({ ...rest, value: shown }))
  const rows = values.map(({ name, value, origin, meaning }) => {
    return [name, wrapList(printable(value), 32) || '-', origin, meaning]
  })
  if (json) printJson(values, print)
  else for (const line of table([['SETTING', 'VALUE', 'FROM', 'MEANING'], ...rows])) print(line)
}
