import { printable } from '../base/text.ts'
import { type JsonOption, type Print, printJson, table, wrapList, wrapWords } from './output.ts'

/** One setting as printed, without the values of secrets. */
export interface SettingLine {
  name: string
  shown: string
  origin: string
  meaning: string
}

const VALUE_WIDTH = 40
const MEANING_WIDTH = 96

/** Each setting with its meaning below. */
export function printConfig(settings: readonly SettingLine[], { json }: JsonOption, print: Print) {
  const values = settings.map(({ shown, ...rest }) => ({ ...rest, value: shown }))
  if (json) return printJson(values, print)
  const shown = values.map(({ value }) => wrapList(printable(value), VALUE_WIDTH) || '-')
  const rows = values.map(({ name, origin }, at) => [name, shown[at] ?? '', origin])
  const [head = '', ...lines] = table([['SETTING', 'VALUE', 'FROM'], ...rows])
  print(head)
  values.forEach(({ meaning }, at) => {
    const height = shown[at]?.split('\n').length ?? 1
    for (const line of lines.splice(0, height)) print(line)
    for (const line of wrapWords(meaning, MEANING_WIDTH)) print(`    ${line}`)
  })
}
