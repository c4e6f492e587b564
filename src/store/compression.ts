import { promisify } from 'node:util'
import {
  constants,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib'
import { freeLarge } from '../base/free-large.ts'
import { isSharedMailbox } from '../mail/rules/session.ts'
import type { NewMail } from '../mail/store.ts'

const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const MAX_CHUNK_BYTES = 64 * 1024

export function compress(bytes: Uint8Array | string): Uint8Array {
  // By default Node allocates 64 KB per call.
  const chunkSize = Math.min(bytes.length + 128, MAX_CHUNK_BYTES)
  // zlib returns a slice of a larger buffer; a buffer of its own can be transferred to another thread.
  const slice = zstdCompressSync(bytes, { ...OPTIONS, chunkSize })
  const compressed = new Uint8Array(slice)
  freeLarge(slice)
  return compressed
}

const compressInPool = promisify(zstdCompress)
const LARGE_BYTES = 256 * 1024

/** What takes longer than a millisecond is left to Node's thread pool. */
export async function compressAsync(bytes: Uint8Array | string): Promise<Uint8Array> {
  if (bytes.length <= LARGE_BYTES) return compress(bytes)
  // A frame has the size of its content only if it is announced; compress() does so by itself.
  const content = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
  return await compressInPool(content, { ...OPTIONS, pledgedSrcSize: content.length })
}

const decompressInPool = promisify(zstdDecompress)

/** Large content is left to Node's thread pool. */
export async function decompress(zstd: Uint8Array): Promise<Buffer> {
  const size = contentSize(zstd)
  const options = chunkOptions(size)
  const isSmall = size !== undefined && size <= LARGE_BYTES
  return isSmall ? zstdDecompressSync(zstd, options) : await decompressInPool(zstd, options)
}

/**
 * All of the content in one chunk, which is not full: by default Node allocates 128 KB per call, and copies chunks to put them
 * together.
 */
function chunkOptions(size = 1024 * 1024) {
  return { chunkSize: size + 64 }
}

/** From the header of the frame (RFC 8878, 3.1.1.1); undefined if it does not say. */
function contentSize(zstd: Uint8Array): number | undefined {
  const view = new DataView(zstd.buffer, zstd.byteOffset, zstd.length)
  const descriptor = view.getUint8(4)
  const isSingleSegment = (descriptor & 0x20) !== 0
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0
  const at = 5 + (isSingleSegment ? 0 : 1) + dictionaryBytes
  const flag = descriptor >> 6
  if (flag === 0) return isSingleSegment ? view.getUint8(at) : undefined
  if (flag === 1) return view.getUint16(at, true) + 256
  return flag === 2 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true))
}

// Compressing a mail of 4 KB takes as long as half of its commit on SQLite, and a quarter of a node's CPU time on PostgreSQL. See
// bench/README.md for the disk space it saves.
const MIN_COMPRESSED_BYTES = 16 * 1024

type UncompressedMail = Pick<NewMail, 'raw' | 'recipients'>

/** The mail in zstd format. Small mail is not compressed, unless it is for a shared mailbox, which counts bytes as stored. */
export function compressMail(mail: UncompressedMail): Uint8Array {
  return mustCompress(mail) ? compress(mail.raw) : rawFrame(mail.raw)
}

/** Mail passed in the same turn keeps its order, up to LARGE_BYTES. */
export function compressMailAsync(mail: UncompressedMail): Promise<Uint8Array> {
  return mustCompress(mail) ? compressAsync(mail.raw) : Promise.resolve(rawFrame(mail.raw))
}

function mustCompress({ raw, recipients }: UncompressedMail): boolean {
  const isForShared = recipients.some(({ mailbox }) => isSharedMailbox(mailbox))
  return raw.length >= MIN_COMPRESSED_BYTES || isForShared
}

const MAGIC = 0xfd2fb528
// One segment, and four bytes for the size of the content.
const DESCRIPTOR = 0xa0
const LAST_BLOCK = 1
const HEADER_BYTES = 12

/** A zstd frame with a single block that is not compressed (RFC 8878, 3.1.1): readable like any other. */
function rawFrame(bytes: Uint8Array): Uint8Array {
  const frame = new Uint8Array(HEADER_BYTES + bytes.length)
  const view = new DataView(frame.buffer)
  view.setUint32(0, MAGIC, true)
  view.setUint8(4, DESCRIPTOR)
  view.setUint32(5, bytes.length, true)
  const block = LAST_BLOCK | (bytes.length << 3)
  view.setUint16(9, block & 0xffff, true)
  view.setUint8(11, block >> 16)
  frame.set(bytes, HEADER_BYTES)
  return frame
}
