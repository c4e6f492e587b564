import { readHeader } from '../mime/headers.ts'

/** One header field; the name in lower case, the value unfolded, as latin1. */
export interface Field {
  name: string
  value: string
}

// Mail servers reject much shorter headers. The number of lines is bounded by the bytes.
export const MAX_HEADER_BYTES = 256 * 1024
const LIMITS = { maxBytes: MAX_HEADER_BYTES, maxLines: MAX_HEADER_BYTES }
const MAX_FIELDS = 2_000
const BLANKS = /[ \t\r\n]+/g

/** The fields of a header block, or those of them that are wanted. */
export interface Fields {
  fields: Field[]
  /** True if a limit was reached, so that fields may be missing. */
  cut: boolean
}

export function readFields(
  block: Uint8Array,
  isWanted: (name: string) => boolean = () => true,
): Fields {
  const header = readHeader(block, LIMITS)
  const fields: Field[] = []
  for (const { key, value } of header.fields) {
    if (!isWanted(key)) continue
    if (fields.length === MAX_FIELDS) return { fields, cut: true }
    fields.push({ name: key, value: value.replace(BLANKS, ' ').trim() })
  }
  return { fields, cut: !header.complete }
}
