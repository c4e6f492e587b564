import { freeLarge } from '../base/free-large.ts'

const CR = 0x0d
const LF = 0x0a
const DOT = 0x2e
// Only CRLF.CRLF ends DATA. If two servers disagree about the end, mail can be smuggled.
const END = Buffer.from('\r\n.\r\n')
const LINE_DOT = Buffer.from('\r\n.')
// The CRLF of the DATA command: a dot that follows it is at the start of a line.
const LEADING_CRLF = Buffer.from('\r\n')
const INITIAL_BYTES = 16 * 1024

/** Past the size limit we read on without storing for this many bytes, so that the client sees our 552. */
export const EXCESS_BYTES = 256 * 1024

type DropReason = 'too_big' | 'no_space'

export interface DataReader {
  maxBytes: number
  /** LEADING_CRLF and the data so far, in the first `length` bytes; once dropped, only the last few bytes. */
  buffer: Buffer<ArrayBuffer>
  length: number
  /** True after a line that starts with a dot and is not the end. */
  sawDotLine: boolean
  /** Stuffed dots in the first countedTo bytes of the buffer. */
  countedTo: number
  stuffedDots: number
  dropped: DropReason | undefined
  /** Bytes that may still be skipped once the mail is dropped. */
  skipBudget: number
}

export function dataReader(maxBytes: number): DataReader {
  return {
    maxBytes,
    buffer: LEADING_CRLF,
    length: LEADING_CRLF.length,
    sawDotLine: false,
    countedTo: LEADING_CRLF.length,
    stuffedDots: 0,
    dropped: undefined,
    skipBudget: 0,
  }
}

export type DataProgress =
  /** The whole chunk was consumed. */
  | 'more'
  /** The skip budget is exhausted. */
  | 'endless'
  /** The end was found; `next` is the offset after it, `stuffed` the data as received. plain: nothing to unstuff. */
  | { next: number; stuffed: Buffer; plain: boolean }
  | { next: number; dropped: DropReason }

export function consumeData(reader: DataReader, chunk: Buffer, from: number): DataProgress {
  if (reader.dropped) return skipData(reader, reader.dropped, chunk, from)
  const before = reader.length
  if (before === LEADING_CRLF.length && chunk[from] !== DOT) {
    // Most mail arrives in one chunk and need not be buffered.
    const end = findEnd(reader, chunk, from)
    if (end !== -1) return finish(reader, chunk.subarray(from, end + 2), end + END.length)
    append(reader, chunk.subarray(from))
  } else {
    append(reader, chunk.subarray(from))
    const all = reader.buffer.subarray(0, reader.length)
    const end = findEnd(reader, all, Math.max(0, before - END.length + 1))
    const next = from + end + END.length - before
    if (end !== -1) return finish(reader, all.subarray(LEADING_CRLF.length, end + 2), next)
  }
  if (isTooBig(reader)) discardData(reader, 'too_big')
  return 'more'
}

/** The rest of the mail is skipped. */
export function discardData(reader: DataReader, reason: DropReason): void {
  if (reader.dropped) return
  reader.dropped = reason
  reader.skipBudget = EXCESS_BYTES + (reason === 'too_big' ? 0 : reader.maxBytes)
  const { buffer } = reader
  keepTail(reader, buffer.subarray(0, reader.length))
  freeLarge(buffer)
}

export function bufferedBytes(reader: DataReader): number {
  return reader.buffer === LEADING_CRLF || reader.dropped ? 0 : reader.buffer.length
}

/** Undoes dot-stuffing. The result is a copy of exactly its own size. */
export function unstuff(stuffed: Buffer, plain: boolean): Uint8Array {
  if (plain) return new Uint8Array(stuffed)
  // Byte by byte: searching per line is slower if every line starts with a dot.
  const bytes = new Uint8Array(stuffed.length)
  let length = 0
  for (let at = 0; at < stuffed.length; at += 1) {
    if (isStuffedDot(stuffed, at)) continue
    bytes[length] = stuffed[at] ?? 0
    length += 1
  }
  return bytes.slice(0, length)
}

export function hasBareNewline(stuffed: Buffer): boolean {
  for (let at = 0; at < stuffed.length; at += 1) {
    const byte = stuffed[at]
    if (byte === LF && stuffed[at - 1] !== CR) return true
    if (byte === CR && stuffed[at + 1] !== LF) return true
  }
  return false
}

// RFC 5321 4.5.2 removes any leading dot. A client that stuffs doubles it, so a single dot comes from a client that does
// not stuff, and belongs to the mail.
function isStuffedDot(bytes: Buffer, at: number): boolean {
  if (bytes[at] !== DOT || bytes[at + 1] !== DOT) return false
  return at === 0 || (bytes[at - 1] === LF && bytes[at - 2] === CR)
}

// In most mail, the first line that starts with a dot is the end: one search finds both.
function findEnd(reader: DataReader, bytes: Buffer, from: number): number {
  if (reader.sawDotLine) return bytes.indexOf(END, from)
  const at = bytes.indexOf(LINE_DOT, from)
  if (at === -1 || at + END.length > bytes.length) return -1
  if (bytes[at + 3] === CR && bytes[at + 4] === LF) return at
  reader.sawDotLine = true
  return bytes.indexOf(END, at)
}

function finish(reader: DataReader, stuffed: Buffer, next: number): DataProgress {
  let dots = 0
  if (reader.sawDotLine || stuffed[0] === DOT) {
    for (let at = 0; at < stuffed.length; at += 1) if (isStuffedDot(stuffed, at)) dots += 1
  }
  return stuffed.length - dots > reader.maxBytes
    ? { next, dropped: 'too_big' }
    : { next, stuffed, plain: dots === 0 }
}

// Counts each dot once, and only near the limit, so the work is linear however the mail is split.
// A few bytes past the limit may turn out to be the end.
function isTooBig(reader: DataReader): boolean {
  const limit = LEADING_CRLF.length + reader.maxBytes + END.length
  if (reader.length <= limit) return false
  for (; reader.countedTo + 1 < reader.length; reader.countedTo += 1) {
    if (isStuffedDot(reader.buffer, reader.countedTo)) reader.stuffedDots += 1
  }
  return reader.length - reader.stuffedDots > limit
}

function append(reader: DataReader, bytes: Buffer): void {
  const needed = reader.length + bytes.length
  if (needed > reader.buffer.length) {
    // Doubling keeps copying linear for mail that arrives byte by byte.
    reader.buffer = grown(reader, Math.max(INITIAL_BYTES, 2 * reader.buffer.length, needed))
  }
  bytes.copy(reader.buffer, reader.length)
  reader.length = needed
}

/** A transfer frees the former bytes. */
function grown({ buffer }: DataReader, bytes: number): Buffer<ArrayBuffer> {
  if (buffer !== LEADING_CRLF) return Buffer.from(buffer.buffer.transfer(bytes))
  const first = Buffer.allocUnsafeSlow(bytes)
  buffer.copy(first)
  return first
}

function skipData(
  reader: DataReader,
  dropped: DropReason,
  chunk: Buffer,
  from: number,
): DataProgress {
  const before = reader.length
  const all = Buffer.concat([reader.buffer, chunk.subarray(from)])
  const end = all.indexOf(END)
  if (end !== -1) return { next: from + end + END.length - before, dropped }
  keepTail(reader, all)
  reader.skipBudget -= chunk.length - from
  return reader.skipBudget < 0 ? 'endless' : 'more'
}

function keepTail(reader: DataReader, all: Buffer): void {
  reader.buffer = Buffer.from(all.subarray(Math.max(0, all.length - END.length + 1)))
  reader.length = reader.buffer.length
}
