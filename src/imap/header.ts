/** One header field; the name in lower case, the value on one line, one character per byte. */
export interface Field {
  name: string
  value: string
}

// Mail servers refuse much shorter ones; past this a header is there to cost us time.
export const MAX_HEADER_BYTES = 256 * 1024
const MAX_FIELDS = 2_000
const FIELD = /^([!-9;-~]+)[ \t]*:(.*)$/s

/** The fields of a header block, or those of them that are wanted. */
export interface Fields {
  fields: Field[]
  /** True when there was more than is read. The last of the fields may then be the beginning of itself. */
  cut: boolean
}

/** In order, up to the empty line; lines that are no field are passed over. */
export function readFields(
  block: Uint8Array,
  isWanted: (name: string) => boolean = () => true,
): Fields {
  const part = Buffer.from(block.buffer, block.byteOffset, Math.min(block.length, MAX_HEADER_BYTES))
  const { folded, ended } = foldedLines(part.toString('latin1'), part.length < block.length)
  const fields: Field[] = []
  for (const lines of folded) {
    const [, name = '', value = ''] = FIELD.exec(lines.join(' ')) ?? []
    if (name === '' || !isWanted(name.toLowerCase())) continue
    if (fields.length === MAX_FIELDS) return { fields, cut: true }
    fields.push({ name: name.toLowerCase(), value: value.replace(BLANKS, ' ').trim() })
  }
  return { fields, cut: !ended }
}

const BLANKS = /[ \t\r]+/g

/** Each field with the lines that continue it, up to the empty line. */
function foldedLines(text: string, inPart: boolean): { folded: string[][]; ended: boolean } {
  const lines = text.split('\n')
  // Half a line would say something else than the whole.
  if (inPart) lines.pop()
  const folded: string[][] = []
  for (const line of lines) {
    if (line === '' || line === '\r') return { folded, ended: true }
    if (/^[ \t]/.test(line)) folded.at(-1)?.push(line)
    else folded.push([line])
  }
  return { folded, ended: !inPart }
}
