/** RFC 2152. Old Outlooks wrote it, and no decoder of the platform reads it any more. */
export function decodeUtf7(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString('latin1')
    .replace(SHIFTED, (_whole, encoded: string) => (encoded ? fromUtf16(encoded) : '+'))
}

const SHIFTED = /\+([A-Za-z0-9+/]*)-?/g

function fromUtf16(encoded: string): string {
  const bytes = Buffer.from(encoded, 'base64')
  return bytes
    .subarray(0, bytes.length & ~1)
    .swap16()
    .toString('utf16le')
}
