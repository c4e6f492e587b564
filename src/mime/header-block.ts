import { isUtf8 } from 'node:buffer'

export const MAX_HEADER_BYTES = 100 * 1024
const MAX_HEADER_LINES = 1_000

/** One header field; the value as it came, folded, one character per byte. */
export interface Field {
  /** The name in lower case. */
  key: string
  /** The name as written. */
  name: string
  value: string
}

/** The header block of a mail up to its limit, one character per byte. */
export function headerBlock(raw: Uint8Array): string {
  const head = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, MAX_HEADER_BYTES))
  if (head[0] === LF || (head[0] === CR && head[1] === LF)) return ''
  return head.toString('latin1', 0, headerEnd(head))
}

/** The fields in order; lines that are none are passed over, as is what lies beyond the limit of lines. */
export function* readFields(block: string): Generator<Field> {
  let start = 0
  for (let lines = 0; start < block.length && lines < MAX_HEADER_LINES; ) {
    let end = lineEnd(block, start)
    lines += 1
    while (isBlank(block.charCodeAt(end)) && lines < MAX_HEADER_LINES) {
      end = lineEnd(block, end)
      lines += 1
    }
    const name = FIELD_NAME.exec(block.slice(start, Math.min(end, start + MAX_NAME)))
    if (name?.[1]) {
      const value = block.slice(start + name[0].length, end)
      yield { key: name[1].toLowerCase(), name: name[1], value }
    }
    start = end
  }
}

/** The value on one line, its bytes read as UTF-8 where they are that, else as Windows-1252. */
export function unfold(value: string): string {
  const line = value.replace(BREAK, ' ')
  if (ASCII.test(line)) return line.trim()
  const bytes = Buffer.from(line, 'latin1')
  return (isUtf8(bytes) ? bytes.toString('utf8') : WESTERN.decode(bytes)).trim()
}

const LF = 0x0a
const CR = 0x0d
const MAX_NAME = 256
// RFC 5322 4.5: old mail may have blanks before the colon. A line that begins with a blank is no field of its own.
const FIELD_NAME = /^([!-9;-~]+)[ \t]*:/
// A bare CR is no line end of ours, and nothing may follow one unseen.
const BREAK = /[\r\n]+[ \t]*/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ASCII = /^[\u0000-\u007f]*$/
const WESTERN = new TextDecoder('windows-1252')

function headerEnd(head: Buffer): number {
  const crlf = head.indexOf('\n\r\n', 0, 'latin1')
  const end = crlf < 0 ? head.length : crlf + 1
  const lf = head.subarray(0, end).indexOf('\n\n', 0, 'latin1')
  if (lf >= 0) return lf + 1
  // Cut by the limit: half a line would say something else than the whole.
  return crlf < 0 && head.length === MAX_HEADER_BYTES ? head.lastIndexOf(LF) + 1 : end
}

function lineEnd(block: string, from: number): number {
  const newline = block.indexOf('\n', from)
  return newline < 0 ? block.length : newline + 1
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
