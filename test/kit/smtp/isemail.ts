import { readFileSync } from 'node:fs'
import { corpus } from '../mail/corpora.ts'

/** The addresses of isemail's test cases, with its result. */
export function readIsemail(file: 'tests.xml' | 'tests-original.xml') {
  const xml = readFileSync(`${corpus('isemail')}/${file}`, 'utf8')
  return [...xml.matchAll(/<test id.*?<\/test>/gs)].map(([test]) => ({
    address: decode(/<address>(.*?)<\/address>/s.exec(test)?.[1] ?? ''),
    category: /<category>(.*?)</.exec(test)?.[1] ?? '',
    diagnosis: /<diagnosis>(.*?)</.exec(test)?.[1] ?? '',
  }))
}

/** Control characters are represented as U+2400 and up in that file. */
function decode(text: string): string {
  return text
    .replace(/&#x([0-9A-F]+);/gi, (_, hex: string) =>
      String.fromCodePoint(Number.parseInt(hex, 16)),
    )
    .replace(/[\u2400-\u241f]/g, (symbol) => String.fromCharCode(symbol.charCodeAt(0) - 0x2400))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
