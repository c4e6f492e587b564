/** Undoes a Content-Transfer-Encoding. One that nobody knows leaves the bytes as they are. */
export function decodeTransfer(bytes: Buffer, encoding: string): Buffer {
  if (encoding === 'base64') return fromBase64(bytes)
  if (encoding === 'quoted-printable') return fromQuotedPrintable(bytes)
  return bytes
}

function fromBase64(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1')
  const padding = text.indexOf('=')
  if (padding < 0 || PADDING_ONLY.test(text.slice(padding))) return Buffer.from(text, 'base64')
  // The decoder stops at the first padding, but some programs pad every line. Beyond the limit it is no program's doing.
  const units = text.split(/=+/, MAX_UNITS)
  return Buffer.concat(units.map((unit) => Buffer.from(unit, 'base64')))
}

const PADDING_ONLY = /^[=\s]*$/
const MAX_UNITS = 200_000

function fromQuotedPrintable(bytes: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte !== EQUALS) {
      decoded[length++] = byte
      continue
    }
    const high = HEX[bytes[at + 1] ?? 0] ?? -1
    const low = HEX[bytes[at + 2] ?? 0] ?? -1
    if (high >= 0 && low >= 0) {
      decoded[length++] = high * 16 + low
      at += 2
      continue
    }
    const next = softBreak(bytes, at + 1)
    if (next > 0) at = next - 1
    else decoded[length++] = byte
  }
  return decoded.subarray(0, length)
}

const EQUALS = 0x3d
const HEX = new Int8Array(256).fill(-1)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  HEX[digit.charCodeAt(0)] = value
  HEX[digit.toUpperCase().charCodeAt(0)] = value
}

/** Where the next line begins if nothing but blanks stands before it; -1 when something else does. */
function softBreak(bytes: Buffer, from: number): number {
  let at = from
  // RFC 2045 6.7: a line has at most 76 characters. More blanks than that are looked at as text.
  while ((bytes[at] === 0x20 || bytes[at] === 0x09) && at - from < 80) at += 1
  if (at >= bytes.length || bytes[at] === 0x0a) return at + 1
  return bytes[at] === 0x0d && bytes[at + 1] === 0x0a ? at + 2 : -1
}
