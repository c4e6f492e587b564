const CR = 0x0d
const LF = 0x0a

/** What stood on a line, or why it cannot be read. */
type Line = { text: string } | { fault: 'too_long' | 'bad' }

export interface LineReader {
  /** What of an unfinished line has come so far, one character for each byte. */
  partial: string
  /** True while the rest of a line that was too long goes by. */
  skipping: boolean
  /** The line the last take completed. */
  line: Line | undefined
}

export function lineReader(): LineReader {
  return { partial: '', skipping: false, line: undefined }
}

/** Reads up to the end of one line or of the chunk; returns where it stopped. Never keeps more than maxBytes. */
export function takeLine(
  reader: LineReader,
  chunk: Buffer,
  { from, maxBytes }: { from: number; maxBytes: number },
): number {
  const plain = reader.partial === '' && !reader.skipping ? plainEnd(chunk, from, maxBytes) : -1
  if (plain !== -1) {
    reader.line = { text: chunk.toString('latin1', from, plain) }
    return plain + 2
  }
  const lf = chunk.indexOf(LF, from)
  const end = lf === -1 ? chunk.length : lf + 1
  reader.line = undefined
  if (reader.skipping) {
    reader.skipping = lf === -1
  } else if (reader.partial.length + end - from > maxBytes) {
    // Said at once, not at the line's end: that may never come.
    reader.line = { fault: 'too_long' }
    reader.partial = ''
    reader.skipping = lf === -1
  } else if (lf === -1) {
    reader.partial += chunk.toString('latin1', from, end)
  } else {
    reader.line = decode(reader.partial + chunk.toString('latin1', from, end))
    reader.partial = ''
  }
  return end
}

/** Where a whole line of printable ASCII has its CRLF, else -1. The usual line is looked at once and copied once. */
function plainEnd(chunk: Buffer, from: number, maxBytes: number): number {
  const stop = Math.min(chunk.length, from + maxBytes) - 1
  for (let at = from; at < stop; at += 1) {
    const byte = chunk[at] ?? 0
    if (byte < 0x20 || byte > 0x7e) return byte === CR && chunk[at + 1] === LF ? at : -1
  }
  return -1
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/

// A line without its CR is refused, not guessed at: where two servers see different lines, commands can be smuggled.
function decode(bytes: string): Line {
  if (!bytes.endsWith('\r\n')) return { fault: 'bad' }
  try {
    const text = utf8.decode(Buffer.from(bytes.slice(0, -2), 'latin1'))
    return CONTROL.test(text) ? { fault: 'bad' } : { text }
  } catch {
    // Two different wrong bytes must not become the same replacement character.
    return { fault: 'bad' }
  }
}
