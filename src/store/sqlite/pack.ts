import { constants, zstdCompressSync } from 'node:zlib'

const FAST = { [constants.ZSTD_c_compressionLevel]: 1 }
const MOST_AT_ONCE = 64 * 1024

export function pack(bytes: Uint8Array | string): Uint8Array {
  // zlib answers with a slice of a larger buffer; a copy of its own can be handed to another thread without copying.
  // Node takes room for 64 KB at each call unless told otherwise.
  const chunkSize = Math.min(bytes.length + 128, MOST_AT_ONCE)
  return new Uint8Array(zstdCompressSync(bytes, { params: FAST, chunkSize }))
}
