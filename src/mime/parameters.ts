import { decodeBytes } from './decode.ts'
import { decodeWords } from './words.ts'

/** A header like `text/plain; charset=utf-8`. */
interface Structured {
  /** What stands before the first semicolon, in lower case. */
  value: string
  parameters: Map<string, string>
}

/** Reads a value with parameters, those of RFC 2231 put together and decoded; of two alike the first counts. */
export function readStructured(line: string): Structured {
  const value = (VALUE.exec(line)?.[1] ?? '').toLowerCase()
  const plain = new Map<string, string>()
  const sections = new Map<string, Section[]>()
  for (const [name, text] of readPairs(line)) {
    const [, stem, number, star] = SECTION.exec(name) ?? []
    if (stem === undefined) {
      if (!plain.has(name)) plain.set(name, text)
      continue
    }
    const list = sections.get(stem) ?? []
    const extended = number === undefined || star !== undefined
    list.push({ number: Number(number ?? 0), text, extended })
    sections.set(stem, list)
  }
  const parameters = new Map<string, string>()
  for (const [name, text] of plain) parameters.set(name, decodeWords(text))
  for (const [name, list] of sections) parameters.set(name, joinSections(list))
  return { value, parameters }
}

interface Section {
  number: number
  text: string
  /** Percent-encoded; the first such section may begin with charset'language'. */
  extended: boolean
}

const MAX_PAIRS = 1_000
const VALUE = /^\s*([^\s;(]*)/
const SECTION = /^([^*]+)\*(?:(\d{1,9})(\*)?)?$/
const NAME = /[;\s]*([^\s=;]+)\s*/y
const QUOTED = /"([^"\\]*(?:\\.[^"\\]*)*)"?/sy
const TOKEN = /[^;]*/y

function* readPairs(line: string): Generator<[string, string]> {
  // Some programs forget the first semicolon.
  let at = VALUE.exec(line)?.[0].length ?? 0
  for (let pairs = 0; at >= 0 && at < line.length && pairs < MAX_PAIRS; pairs += 1) {
    NAME.lastIndex = at
    const name = NAME.exec(line)?.[1]?.toLowerCase()
    if (name === undefined) return
    at = NAME.lastIndex
    let text = ''
    if (line[at] === '=') {
      ;[text, at] = readText(line, at + 1)
    }
    yield [name, text]
    at = line.indexOf(';', at)
  }
}

function readText(line: string, from: number): [string, number] {
  let at = from
  while (line[at] === ' ' || line[at] === '\t') at += 1
  if (line[at] === '"') {
    QUOTED.lastIndex = at
    const text = QUOTED.exec(line)?.[1] ?? ''
    return [text.replace(/\\(.)/gs, '$1'), QUOTED.lastIndex]
  }
  TOKEN.lastIndex = at
  const token = TOKEN.exec(line)?.[0] ?? ''
  const comment = token.search(/\s\(/)
  return [(comment < 0 ? token : token.slice(0, comment)).trim(), TOKEN.lastIndex]
}

function joinSections(list: Section[]): string {
  list.sort((a, b) => a.number - b.number)
  let charset = 'utf-8'
  const bytes = list.map(({ text, extended }, index) => {
    if (!extended) return Buffer.from(text)
    const [, label, rest] = (index === 0 && CHARSET.exec(text)) || [text, undefined, text]
    charset = label || charset
    return percentDecode(rest ?? '')
  })
  return decodeBytes(Buffer.concat(bytes), charset)
}

const CHARSET = /^([^']*)'[^']*'(.*)$/s

function percentDecode(text: string): Buffer {
  const plain = Buffer.from(text).toString('latin1')
  const decoded = plain.replace(/%([0-9a-f]{2})/gi, (_whole, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(decoded, 'latin1')
}
