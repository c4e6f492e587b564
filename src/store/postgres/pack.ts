import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync } from 'node:zlib'

const options = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const compress = promisify(zstdCompress)
// A door's thread does this: what takes longer than a millisecond is left to Node's own threads.
const LARGE = 256 * 1024

export async function pack(bytes: Uint8Array | string): Promise<Uint8Array> {
  if (bytes.length > LARGE) return await compress(bytes, options)
  // Node takes room for 64 KB at each call unless told otherwise.
  return zstdCompressSync(bytes, { ...options, chunkSize: Math.min(bytes.length + 128, 65_536) })
}
