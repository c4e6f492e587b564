import { decodeBytes } from './decode.ts'

/** Reads the encoded words of RFC 2047 in a line. What they hold is text: never decoded again, never looked into. */
export function decodeWords(line: string): string {
  if (!line.includes('=?')) return line
  let text = ''
  let from = 0
  let run: Run | undefined
  for (const found of line.matchAll(WORD)) {
    const between = line.slice(from, found.index)
    const word = readWord(found)
    from = found.index + found[0].length
    // Blanks between two words are only there to part them.
    const apart = run === undefined || !BLANK.test(between)
    if (run && !apart && run.charset === word.charset) {
      run.pieces.push(...word.pieces)
      continue
    }
    text += (run ? readRun(run) : '') + (apart ? between : '')
    run = word
  }
  return text + (run ? readRun(run) : '') + line.slice(from)
}

/** Words in one charset, joined as bytes: senders cut characters in two at the end of a word, padded or not. */
interface Run {
  charset: string
  /** A piece of text is one that stood there unencoded. */
  pieces: (Buffer | string)[]
}

// Each part ends at the next question mark, so no text is looked at more than a few times.
const WORD = /=\?([^?\s]{1,60})\?([bq])\?([^?]*)\?=/gi
const BLANK = /^\s*$/
const ESCAPE = /=([0-9a-f]{2})/gi
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ASCII_OR_NOT = /[\u0000-\u007f]+|[^\u0000-\u007f]+/g

function readWord([, label = '', encoding, encoded = '']: RegExpExecArray): Run {
  // RFC 2231 5: a language may follow the charset.
  const charset = (label.split('*', 1)[0] ?? '').toLowerCase()
  if (encoding === 'B' || encoding === 'b') {
    return { charset, pieces: [Buffer.from(encoded, 'base64')] }
  }
  // Some programs leave their letters as they are between the escapes; those were read with the line.
  const pieces = encoded.match(ASCII_OR_NOT) ?? []
  return {
    charset,
    pieces: pieces.map((piece) => (piece.charCodeAt(0) < 128 ? fromQ(piece) : piece)),
  }
}

function fromQ(encoded: string): Buffer {
  const plain = encoded
    .replaceAll('_', ' ')
    .replace(ESCAPE, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(plain, 'latin1')
}

function readRun({ charset, pieces }: Run): string {
  let text = ''
  let bytes: Buffer[] = []
  for (const piece of pieces) {
    if (typeof piece !== 'string') bytes.push(piece)
    else {
      text += decodeBytes(Buffer.concat(bytes), charset) + piece
      bytes = []
    }
  }
  return text + decodeBytes(Buffer.concat(bytes), charset)
}
