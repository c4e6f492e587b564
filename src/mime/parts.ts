import { type Field, MAX_HEADER_BYTES, readFields } from './header-block.ts'
import { describePart, type Part } from './part.ts'

export const MAX_PARTS = 1_000
export const MAX_NESTING = 100

/**
 * The tree of a mail's parts; the bodies are views on the raw bytes. One pass, and the limits hold while it goes: what
 * lies beyond the last part allowed is left out, a multipart nested too deeply stays one piece.
 */
export function readParts(raw: Uint8Array): { root: Part; fields: Field[] } {
  const walk: Walk = {
    bytes: Buffer.from(raw.buffer, raw.byteOffset, raw.length),
    open: [],
    count: 1,
  }
  const head = readPartHead(walk, 0)
  const root = describePart(head.fields, 'text/plain')
  let here: Place | undefined = { part: root, from: head.body }
  while (here) {
    const delimiter = takeBody(walk, here)
    here = delimiter && followDelimiter(walk, delimiter)
  }
  return { root, fields: head.fields }
}

interface Walk {
  bytes: Buffer
  /** The multiparts around the place we are at, outermost first. */
  open: Open[]
  count: number
}

/** No part: in text that belongs to none, after a closing delimiter. */
interface Place {
  part: Part | undefined
  from: number
}

interface Open {
  part: Part
  boundary: string
  defaultType: string
}

interface Delimiter {
  /** Index in the list of open multiparts. */
  level: number
  closing: boolean
  start: number
  /** Where the line after it begins. */
  end: number
}

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d
const DASHES = Buffer.from('\n--')
const MAX_BOUNDARY = 1_000

/** Gives the part its body; returns the delimiter that ends it. */
function takeBody({ bytes, open }: Walk, { part, from }: Place): Delimiter | undefined {
  if (part && isMultipart(part) && open.length < MAX_NESTING) openMultipart(open, part)
  const delimiter = nextDelimiter(bytes, from, open)
  if (part) part.body = bytes.subarray(from, bodyEnd(bytes, from, delimiter?.start))
  return delimiter
}

function followDelimiter(walk: Walk, { level, closing, end }: Delimiter): Place | undefined {
  const { open } = walk
  // Whatever was left open inside ends here too.
  open.length = closing ? level : level + 1
  if (closing) return { part: undefined, from: end }
  walk.count += 1
  const parent = open[level]
  if (!parent || walk.count > MAX_PARTS) return undefined
  const head = readPartHead(walk, end)
  const part = describePart(head.fields, parent.defaultType)
  parent.part.children.push(part)
  return { part, from: head.body }
}

function isMultipart(part: Part): boolean {
  return part.type.startsWith('multipart/') && boundaryOf(part) !== ''
}

function boundaryOf(part: Part): string {
  const boundary = part.parameters.get('boundary') ?? ''
  return boundary.length > MAX_BOUNDARY ? '' : boundary.trimEnd()
}

function openMultipart(open: Open[], part: Part): void {
  const defaultType = part.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain'
  open.push({ part, boundary: boundaryOf(part), defaultType })
}

/** The fields of a part and where its body begins. Without a single field all of it is body. */
function readPartHead({ bytes, open }: Walk, start: number): { fields: Field[]; body: number } {
  let line = start
  while (line < bytes.length && !isEmptyLine(bytes, line) && !delimiterAt(bytes, line, open)) {
    while (line < bytes.length && bytes[line] !== LF) line += 1
    line += 1
  }
  const end = Math.min(line, bytes.length)
  const block = bytes.toString('latin1', start, Math.min(end, start + MAX_HEADER_BYTES))
  const fields = [...readFields(block)]
  if (fields.length === 0 && end > start && !open.length) return { fields, body: start }
  return { fields, body: isEmptyLine(bytes, end) ? end + (bytes[end] === LF ? 1 : 2) : end }
}

function isEmptyLine(bytes: Buffer, at: number): boolean {
  return bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] === LF)
}

function nextDelimiter(bytes: Buffer, from: number, open: Open[]): Delimiter | undefined {
  if (open.length === 0) return undefined
  let line = from
  while (line >= 0 && line < bytes.length) {
    const delimiter = delimiterAt(bytes, line, open)
    if (delimiter) return delimiter
    const found = bytes.indexOf(DASHES, line)
    line = found < 0 ? -1 : found + 1
  }
  return undefined
}

/** The innermost multipart that the line belongs to, if it is a delimiter at all. */
function delimiterAt(bytes: Buffer, line: number, open: Open[]): Delimiter | undefined {
  if (open.length === 0 || bytes[line] !== DASH || bytes[line + 1] !== DASH) return undefined
  const newline = bytes.subarray(line, line + MAX_BOUNDARY + 100).indexOf(LF)
  const stop = newline < 0 ? Math.min(bytes.length, line + MAX_BOUNDARY + 100) : line + newline
  const text = bytes.toString('latin1', line + 2, stop).trimEnd()
  const end = newline < 0 ? stop : stop + 1
  for (let level = open.length - 1; level >= 0; level -= 1) {
    const boundary = open[level]?.boundary ?? ''
    if (text === boundary) return { level, closing: false, start: line, end }
    if (text.length === boundary.length + 2 && text.startsWith(boundary) && text.endsWith('--')) {
      return { level, closing: true, start: line, end }
    }
  }
  return undefined
}

/** RFC 2046 5.1.1: the line end before a delimiter belongs to the delimiter. */
function bodyEnd(bytes: Buffer, from: number, delimiter: number | undefined): number {
  if (delimiter === undefined) return bytes.length
  let end = delimiter
  if (end > from && bytes[end - 1] === LF) end -= 1
  if (end > from && bytes[end - 1] === CR) end -= 1
  return end
}
