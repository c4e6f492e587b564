interface Command {
  /** In upper case. */
  verb: string
  /** What follows the verb, without the spaces around it. */
  argument: string
}

export function parseCommand(text: string): Command {
  const space = text.indexOf(' ')
  if (space === -1) return { verb: text.toUpperCase(), argument: '' }
  return { verb: text.slice(0, space).toUpperCase(), argument: text.slice(space + 1).trim() }
}

/** What stands between the angle brackets of `FROM:<…>` or `TO:<…>`, and what follows them. */
interface Path {
  path: string
  parameters: string
}

/** Undefined when there are no such brackets. Says nothing about the address itself. */
export function parsePath(keyword: 'FROM:' | 'TO:', argument: string): Path | undefined {
  if (argument.slice(0, keyword.length).toUpperCase() !== keyword) return undefined
  const text = argument.slice(keyword.length).trimStart()
  if (!text.startsWith('<')) return undefined
  const end = closingBracket(text)
  const parameters = text.slice(end + 1)
  if (end === -1 || (parameters !== '' && !parameters.startsWith(' '))) return undefined
  return { path: text.slice(1, end), parameters: parameters.trim() }
}

// Inside a quoted string `>` is a character like any other, and a backslash takes the next one along.
function closingBracket(text: string): number {
  let quoted = false
  for (let at = 1; at < text.length; at += 1) {
    const char = text[at]
    if (char === '"') quoted = !quoted
    else if (char === '\\' && quoted) at += 1
    else if (char === '>' && !quoted) return at
    else if (char === '<' && !quoted) return -1
  }
  return -1
}

/** A sender is only kept as text: it must look like one address on one line, no more. `<>` is a bounce. */
export function isSender(path: string): boolean {
  if (path === '') return true
  const at = path.lastIndexOf('@')
  if (path.length > 320 || at < 1 || at === path.length - 1) return false
  return !path.slice(at).includes(' ') && (path.startsWith('"') || !path.includes(' '))
}

interface MailParameters {
  /** 0 when none was declared. */
  size: number
  utf8: boolean
}

const PARAMETER = /^([A-Za-z0-9][A-Za-z0-9-]*)(?:=([\x21-\x3c\x3e-\x7e]+))?$/

/** malformed: 501; unknown: well-formed, but nothing we offer: 555. */
export type ParameterFault = 'malformed' | 'unknown'

export function parseMailParameters(text: string): MailParameters | ParameterFault {
  const found = { size: 0, utf8: false }
  if (text === '') return found
  const seen = new Set<string>()
  for (const word of words(text)) {
    const [, name = '', value] = PARAMETER.exec(word) ?? []
    const keyword = name.toUpperCase()
    if (keyword === '' || seen.has(keyword)) return 'malformed'
    seen.add(keyword)
    const fault = takeParameter(found, keyword, value)
    if (fault) return fault
  }
  return found
}

function takeParameter(
  found: MailParameters,
  keyword: string,
  value: string | undefined,
): ParameterFault | undefined {
  if (keyword === 'SIZE') {
    if (value === undefined || !/^\d{1,20}$/.test(value)) return 'malformed'
    found.size = Number(value)
  } else if (keyword === 'BODY') {
    if (value === undefined || !/^(7BIT|8BITMIME)$/i.test(value)) return 'malformed'
  } else if (keyword === 'SMTPUTF8') {
    if (value !== undefined) return 'malformed'
    found.utf8 = true
  } else return 'unknown'
  return undefined
}

/** RCPT takes none: DSN is not offered. */
export function recipientParameterFault(text: string): ParameterFault | undefined {
  if (text === '') return undefined
  return words(text).every((word) => PARAMETER.test(word)) ? 'unknown' : 'malformed'
}

function words(text: string): string[] {
  return text.split(' ').filter((word) => word !== '')
}
