const CR = 0x0d
const LF = 0x0a
const DOT = 0x2e
// Only CRLF.CRLF ends DATA. Where one server sees an end and another does not, mail can be smuggled in between.
const END = Buffer.from('\r\n.\r\n')
const LINE_DOT = Buffer.from('\r\n.')
// The CRLF of the DATA command itself: a dot right behind it stands at the start of a line.
const BEFORE = Buffer.from('\r\n')
const FIRST_BYTES = 16 * 1024

/** How far past the limit we read on without keeping, so that a sender of a little too much hears our 552. */
export const EXCESS_BYTES = 256 * 1024

type DropReason = 'too_big' | 'no_space'

export interface DataReader {
  maxBytes: number
  /** BEFORE and all that came, in the first `length` bytes; once dropped, the last few that came. */
  held: Buffer
  length: number
  /** True once a line came that starts with a dot and is not the end. */
  dotted: boolean
  /** How far of held the stuffed dots have been counted, and how many there were. */
  counted: number
  dots: number
  dropped: DropReason | undefined
  /** How much more is read past once the mail is dropped. */
  patience: number
}

export function dataReader(maxBytes: number): DataReader {
  return {
    maxBytes,
    held: BEFORE,
    length: BEFORE.length,
    dotted: false,
    counted: BEFORE.length,
    dots: 0,
    dropped: undefined,
    patience: 0,
  }
}

export type Taken =
  /** All of the chunk was read and the mail goes on. */
  | 'more'
  /** Far too much came: no use in reading on. */
  | 'endless'
  /** The mail ended; `next` is the first byte behind it, `stuffed` the bytes as they came. plain: no line starts with a dot. */
  | { next: number; stuffed: Buffer; plain: boolean }
  | { next: number; dropped: DropReason }

export function takeData(reader: DataReader, chunk: Buffer, from: number): Taken {
  if (reader.dropped) return readPast(reader, reader.dropped, chunk, from)
  const before = reader.length
  if (before === BEFORE.length && chunk[from] !== DOT) {
    // The usual mail comes in one piece: no need to hold it.
    const end = findEnd(reader, chunk, from)
    if (end !== -1) return finish(reader, chunk.subarray(from, end + 2), end + END.length)
    append(reader, chunk.subarray(from))
  } else {
    append(reader, chunk.subarray(from))
    const all = reader.held.subarray(0, reader.length)
    const end = findEnd(reader, all, Math.max(0, before - END.length + 1))
    const next = from + end + END.length - before
    if (end !== -1) return finish(reader, all.subarray(BEFORE.length, end + 2), next)
  }
  if (isTooBig(reader)) dropData(reader, 'too_big')
  return 'more'
}

/** Gives up the mail that is coming in: what was held is let go, what still comes is read past. */
export function dropData(reader: DataReader, reason: DropReason): void {
  if (reader.dropped) return
  reader.dropped = reason
  reader.patience = EXCESS_BYTES + (reason === 'too_big' ? 0 : reader.maxBytes)
  keepTail(reader, reader.held.subarray(0, reader.length))
}

/** Bytes of memory that the unfinished mail takes. */
export function heldBytes(reader: DataReader): number {
  return reader.held === BEFORE || reader.dropped ? 0 : reader.held.length
}

/** The mail as it was before the sender stuffed it, in memory of its own and of its exact size. */
export function unstuff(stuffed: Buffer, plain: boolean): Uint8Array {
  if (plain) return new Uint8Array(stuffed)
  // Byte by byte: a search per line costs more where every line starts with a dot.
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

// RFC 5321 4.5.2 lets any first dot go. A sender that stuffs doubles it, so one that stands alone is from a sender
// that does not, and is part of its mail.
function isStuffedDot(bytes: Buffer, at: number): boolean {
  if (bytes[at] !== DOT || bytes[at + 1] !== DOT) return false
  return at === 0 || (bytes[at - 1] === LF && bytes[at - 2] === CR)
}

// In most mails the first line that starts with a dot is the end: one search tells both.
function findEnd(reader: DataReader, bytes: Buffer, from: number): number {
  if (reader.dotted) return bytes.indexOf(END, from)
  const at = bytes.indexOf(LINE_DOT, from)
  if (at === -1 || at + END.length > bytes.length) return -1
  if (bytes[at + 3] === CR && bytes[at + 4] === LF) return at
  reader.dotted = true
  return bytes.indexOf(END, at)
}

function finish(reader: DataReader, stuffed: Buffer, next: number): Taken {
  let dots = 0
  if (reader.dotted || stuffed[0] === DOT) {
    for (let at = 0; at < stuffed.length; at += 1) if (isStuffedDot(stuffed, at)) dots += 1
  }
  return stuffed.length - dots > reader.maxBytes
    ? { next, dropped: 'too_big' }
    : { next, stuffed, plain: dots === 0 }
}

// Counts each dot once, and none at all before the limit is near: however a mail is cut, the work stays linear.
// A few bytes past the limit may still turn out to be the end.
function isTooBig(reader: DataReader): boolean {
  const limit = BEFORE.length + reader.maxBytes + END.length
  if (reader.length <= limit) return false
  for (; reader.counted + 1 < reader.length; reader.counted += 1) {
    if (isStuffedDot(reader.held, reader.counted)) reader.dots += 1
  }
  return reader.length - reader.dots > limit
}

function append(reader: DataReader, bytes: Buffer): void {
  const needed = reader.length + bytes.length
  if (needed > reader.held.length) {
    // Doubling, so that a mail that comes byte by byte is not copied as often.
    const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * reader.held.length, needed))
    reader.held.copy(grown, 0, 0, reader.length)
    reader.held = grown
  }
  bytes.copy(reader.held, reader.length)
  reader.length = needed
}

function readPast(reader: DataReader, dropped: DropReason, chunk: Buffer, from: number): Taken {
  const before = reader.length
  const all = Buffer.concat([reader.held, chunk.subarray(from)])
  const end = all.indexOf(END)
  if (end !== -1) return { next: from + end + END.length - before, dropped }
  keepTail(reader, all)
  reader.patience -= chunk.length - from
  return reader.patience < 0 ? 'endless' : 'more'
}

function keepTail(reader: DataReader, all: Buffer): void {
  reader.held = Buffer.from(all.subarray(Math.max(0, all.length - END.length + 1)))
  reader.length = reader.held.length
}
