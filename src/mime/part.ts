import { type Field, unfold } from './header-block.ts'
import { readStructured } from './parameters.ts'

/** One part of a mail; the body still in its transfer encoding. */
export interface Part {
  /** `type/subtype` in lower case, of safe characters only. */
  type: string
  /** Of Content-Type. */
  parameters: Map<string, string>
  /** `attachment`, `inline`, something else in lower case, or ''. */
  disposition: string
  /** As the sender gives it, decoded, anything but safe; '' when there is none. */
  filename: string
  contentId: string
  encoding: string
  body: Buffer
  children: Part[]
}

/** What the fields of a part say of it; of two alike the first counts, so that no reader is shown another mail. */
export function describePart(fields: Field[], defaultType: string): Part {
  const line = (key: string) => {
    const field = fields.find((one) => one.key === key)
    return field ? unfold(field.value) : ''
  }
  const contentType = readStructured(line('content-type'))
  const disposition = readStructured(line('content-disposition'))
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
