import { decodeBytes } from './charset.ts'

/** Reads the encoded words of RFC 2047 in a line. What they hold is text: never decoded again, never looked into. */
export function decodeWords(line: string): string {
  if (!line.includes('=?')) return line
  let text = ''
  let from = 0
  let open: { charset: string; bytes: Buffer[] } | undefined
  const close = () => {
    if (open) text += decodeBytes(Buffer.concat(open.bytes), open.charset)
    open = undefined
  }

  for (const word of line.matchAll(WORD)) {
    const [whole, label = '', encoding = '', encoded = ''] = word
    const between = line.slice(from, word.index)
    const adjacent = open !== undefined && BLANK.test(between)
    if (!adjacent) {
      close()
      text += between
    }
    const charset = (label.split('*', 1)[0] ?? '').toLowerCase()
    // Joined as bytes: senders cut characters in two at the end of a word, padded or not.
    if (open && open.charset !== charset) close()
    open ??= { charset, bytes: [] }
    open.bytes.push(encoding === 'B' || encoding === 'b' ? fromBase64(encoded) : fromQ(encoded))
    from = word.index + whole.length
  }
  close()
  return text + line.slice(from)
}

// Each part ends at the next question mark, so no text is looked at more than a few times.
const WORD = /=\?([^?\s]{1,60})\?([bq])\?([^?]*)\?=/gi
const BLANK = /^\s*$/
const ESCAPE = /=([0-9a-f]{2})/gi

function fromBase64(encoded: string): Buffer {
  return Buffer.from(encoded, 'base64')
}

function fromQ(encoded: string): Buffer {
  const bytes = Buffer.from(encoded.replaceAll('_', ' '), 'utf8').toString('latin1')
  const plain = bytes.replace(ESCAPE, (_whole, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  )
  return Buffer.from(plain, 'latin1')
}
