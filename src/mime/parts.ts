import {
  type DeclaredCharset,
  type Field,
  fieldText,
  firstFields,
  HEADER_LIMITS,
  isBlank,
  isEmptyLine,
  nextLine,
  readFields,
} from './header-fields.ts'
import { parseParameterized } from './header-values.ts'

const MAX_PARTS = 1_000
const MAX_NESTING = 100

/**
 * The tree of parts; the bodies are views of the raw bytes. One pass with limits: parts beyond the maximum are dropped, and
 * a multipart nested too deeply is not split.
 */
export function readParts(
  raw: Uint8Array,
  declared?: DeclaredCharset,
): { root: Part; fields: Field[]; isWhole: boolean } {
  const traversal: Traversal = {
    declared,
    bytes: Buffer.from(raw.buffer, raw.byteOffset, raw.length),
    open: [],
    levels: new Map(),
    firsts: new Uint8Array(256),
    count: 1,
  }
  const head = readPartHead(traversal, 0)
  const root = describePart(head.fields, 'text/plain', declared)
  let cursor: Cursor | undefined = { part: root, from: head.body }
  while (cursor) {
    const delimiter = takeBody(traversal, cursor)
    cursor = delimiter && followDelimiter(traversal, delimiter)
  }
  return { root, fields: head.fields, isWhole: traversal.count <= MAX_PARTS }
}

/** Charset of the first part that declares one. Only the beginning of a mail is searched, because the header is read at intake. */
export function declaredCharset(raw: Uint8Array): DeclaredCharset {
  let charset: string | undefined
  return () => {
    charset ??= firstCharset(readParts(raw.subarray(0, MAX_CHARSET_OFFSET)).root)
    return charset
  }
}

const MAX_CHARSET_OFFSET = 32 * 1024

function firstCharset({ parameters, children }: Part): string {
  const charset = parameters.get('charset')?.trim() ?? ''
  return charset || (children.values().map(firstCharset).find(Boolean) ?? '')
}

interface Traversal {
  bytes: Buffer
  /** For names of files. */
  declared: DeclaredCharset | undefined
  /** Open multiparts, outermost first. */
  open: OpenMultipart[]
  /** Their boundaries and the first bytes of these: a mail may have millions of lines that look like delimiters. */
  levels: Map<string, number>
  firsts: Uint8Array
  count: number
}

/** part is undefined in the epilogue after a closing delimiter. */
interface Cursor {
  part: Part | undefined
  from: number
}

interface OpenMultipart {
  part: Part
  /** As latin1. */
  boundary: string
  defaultType: string
}

interface Delimiter {
  /** Index in the list of open multiparts. */
  level: number
  closing: boolean
  start: number
  /** Offset of the next line. */
  end: number
}

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d
const MAX_BOUNDARY = 1_000

/** Sets the body of the part and returns the delimiter that ends it. */
function takeBody(traversal: Traversal, { part, from }: Cursor): Delimiter | undefined {
  const { bytes, open } = traversal
  if (part && isMultipart(part) && open.length < MAX_NESTING) openMultipart(traversal, part)
  const delimiter = nextDelimiter(traversal, from)
  if (part) part.body = bytes.subarray(from, bodyEnd(bytes, from, delimiter?.start))
  return delimiter
}

function followDelimiter(
  traversal: Traversal,
  { level, closing, end }: Delimiter,
): Cursor | undefined {
  const { open } = traversal
  // Multiparts left open inside end here, too.
  open.length = closing ? level : level + 1
  indexBoundaries(traversal)
  if (closing) return { part: undefined, from: end }
  traversal.count += 1
  const parent = open[level]
  if (!parent || traversal.count > MAX_PARTS) return undefined
  const head = readPartHead(traversal, end)
  const part = describePart(head.fields, parent.defaultType, traversal.declared)
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

function openMultipart(traversal: Traversal, part: Part): void {
  const defaultType = part.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain'
  const boundary = Buffer.from(boundaryOf(part)).toString('latin1')
  traversal.open.push({ part, boundary, defaultType })
  indexBoundaries(traversal)
}

/** The inner one of two equal boundaries counts. */
function indexBoundaries({ open, levels, firsts }: Traversal): void {
  levels.clear()
  firsts.fill(0)
  for (const [level, { boundary }] of open.entries()) {
    levels.set(boundary, level)
    firsts[boundary.charCodeAt(0)] = 1
  }
}

/** The fields of a part and the offset of its body. A mail without a single field is all body. */
function readPartHead(traversal: Traversal, start: number): { fields: Field[]; body: number } {
  const { bytes, open } = traversal
  const { stop, end } = headExtent(traversal, start)
  const fields = [...readFields(bytes.toString('latin1', start, stop))]
  if (stop < end) fields.push(...lateFields(bytes.subarray(stop, end), fields))
  if (fields.length === 0 && !open.length && !hasField(bytes.subarray(start, end))) {
    return { fields, body: start }
  }
  const body = isEmptyLine(bytes, end) ? end + (bytes[end] === LF ? 1 : 2) : end
  return { fields, body }
}

/** Up to `stop` are the whole fields within the limits; `end` is where the header ends. */
function headExtent(traversal: Traversal, start: number): { stop: number; end: number } {
  const { bytes } = traversal
  const { maxBytes, maxLines } = HEADER_LIMITS
  let stop = start
  let end = start
  for (let lines = 0; ; lines += 1) {
    const isEnd = end >= bytes.length || isEmptyLine(bytes, end) || delimiterAt(traversal, end)
    const isWhole = isEnd || !isBlank(bytes[end])
    if (isWhole && lines <= maxLines && end - start <= maxBytes) stop = end
    if (isEnd) return { stop, end }
    end = nextLine(bytes, end)
  }
}

// What is read below, by the search for codes, or for lists.
const READ_FIELDS =
  'from subject to cc reply-to date message-id list-unsubscribe otp-token content-type content-disposition content-id content-transfer-encoding'.split(
    ' ',
  )

/** Past the limits, the first field of each name that matters, so that a long header hides nothing. */
function lateFields(rest: Uint8Array, before: readonly Field[]): Iterable<Field> {
  const missing = READ_FIELDS.filter((key) => !before.some((field) => field.key === key))
  return firstFields(rest, missing).values()
}

function hasField(head: Buffer): boolean {
  return !readFields(head.toString('latin1', 0, HEADER_LIMITS.maxBytes)).next().done
}

function nextDelimiter(traversal: Traversal, from: number): Delimiter | undefined {
  const { bytes, open } = traversal
  if (open.length === 0) return undefined
  const first = delimiterAt(traversal, from)
  if (first) return first
  for (let at = from; at < bytes.length; at += 1) {
    if (bytes[at] !== LF || bytes[at + 1] !== DASH) continue
    const delimiter = delimiterAt(traversal, at + 1)
    if (delimiter) return delimiter
  }
  return undefined
}

/** The delimiter on this line, if it is one; it belongs to the innermost multipart that matches. */
function delimiterAt({ bytes, levels, firsts }: Traversal, line: number): Delimiter | undefined {
  if (bytes[line] !== DASH || bytes[line + 1] !== DASH) return undefined
  if (firsts[bytes[line + 2] ?? 0] !== 1) return undefined
  const most = Math.min(bytes.length, line + MAX_BOUNDARY + 100)
  let stop = line + 2
  while (stop < most && bytes[stop] !== LF) stop += 1
  const text = bytes.toString('latin1', line + 2, stop).trimEnd()
  const end = Math.min(stop + 1, bytes.length)
  const opening = levels.get(text)
  if (opening !== undefined) return { level: opening, closing: false, start: line, end }
  const closing = text.endsWith('--') ? levels.get(text.slice(0, -2).trimEnd()) : undefined
  return closing === undefined ? undefined : { level: closing, closing: true, start: line, end }
}

/** RFC 2046 5.1.1: the line break before a delimiter belongs to the delimiter. */
function bodyEnd(bytes: Buffer, from: number, delimiter: number | undefined): number {
  if (delimiter === undefined) return bytes.length
  let end = delimiter
  if (end > from && bytes[end - 1] === LF) end -= 1
  if (end > from && bytes[end - 1] === CR) end -= 1
  return end
}

/** One part of a mail, with the body still encoded. */
export interface Part {
  /** `type/subtype` in lower case, validated. */
  type: string
  /** Parameters of Content-Type. */
  parameters: Map<string, string>
  /** `attachment`, `inline`, another value in lower case, or ''. */
  disposition: string
  /** Decoded but not sanitized; '' if there is none. */
  filename: string
  contentId: string
  encoding: string
  body: Buffer
  children: Part[]
}

/** The first of two equal fields counts, so that every reader sees the same mail. */
function describePart(
  fields: Field[],
  defaultType: string,
  declared: DeclaredCharset | undefined,
): Part {
  const line = (key: string) => fieldText(fields, key, declared)
  const contentType = parseParameterized(line('content-type'))
  const disposition = parseParameterized(line('content-disposition'))
  const filename =
    disposition.parameters.get('filename') || contentType.parameters.get('name') || ''
  const fallback = filename ? 'application/octet-stream' : defaultType
  return {
    type: MEDIA_TYPE.test(contentType.value) ? contentType.value : fallback,
    parameters: contentType.parameters,
    disposition: disposition.value,
    filename,
    contentId: line('content-id'),
    encoding: /[a-z0-9-]+/.exec(withoutComment(line('content-transfer-encoding')))?.[0] ?? '',
    body: Buffer.alloc(0),
    children: [],
  }
}

// RFC 6838 4.2
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/

function withoutComment(line: string): string {
  return line.toLowerCase().replace(/^\s*\([^)]*\)/, '')
}
