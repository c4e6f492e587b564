import type { Mail } from '../../shared/mail.ts'
import { decodeTransfer } from '../decode.ts'

/** Decodes an attachment from the position in the parsed mail. */
export function attachmentBytes(raw: Uint8Array, mail: Mail, index: number): Buffer | undefined {
  const position = mail.attachments[index]?.position
  if (!position) return undefined
  const body = Buffer.from(raw.subarray(position.start, position.end))
  return decodeTransfer(body, position.encoding)
}
