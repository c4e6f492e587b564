import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { decodeHz, decodeIso2022 } from './iso-2022.ts'

/** With an unknown charset: as UTF-8 if valid, else as Windows-1252. Never throws. */
export function decodeBytes(bytes: Uint8Array, charset: string): string {
  const label = charset.trim().toLowerCase()
  if (UTF7.test(label)) return decodeUtf7(bytes)
  if (HZ.test(label)) return decodeHz(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  const text = decodeIso2022(bytes, label)
  if (text !== undefined) return text
  // The Encoding Standard reads `utf-16` as little-endian, whatever the byte order mark.
  const bigEndian = label === 'utf-16' && bytes[0] === 0xfe && bytes[1] === 0xff
  const decoder = findDecoder(bigEndian ? 'utf-16be' : label)
  if (decoder) return decoder.decode(bytes)
  return isUtf8(bytes) ? UTF8.decode(bytes) : WINDOWS_1252.decode(bytes)
}

const UTF7 = /^(?:x-)?(?:unicode-1-1-|unicode-2-0-|cs)?utf-?7$/
const HZ = /^hz(?:-gb-?2312)?$/
const UTF8 = new TextDecoder('utf-8')
const WINDOWS_1252 = new TextDecoder('windows-1252')
// A mail can contain any number of invented labels, and TextDecoder is slow to reject one: only these are tried, and cached.
// ASCII is not among them, because it is often declared for something else; the fallback decodes ASCII as well.
const KNOWN_CHARSETS =
  /^(?:utf-?8|utf-?16(?:le|be)?|ucs-?2|unicode|iso[-_]?8859-?\d{1,2}(?:-[ei])?|latin[1-6]|l[1-6]|windows-?\d{3,4}|cp-?\d{3,5}|ms-?\d{3}|ibm-?\d{3,4}|koi8?(?:-[ru]{1,2})?|gb[-_]?2312|gbk|gb18030|big5(?:-hkscs)?|cn-big5|euc[-_]?(?:jp|kr|cn|tw)|s(?:hift)?[-_]?jis|ms_kanji|ks_c_5601-19\d\d|ksc5601|korean|chinese|uhc|tis-?620|mac(?:intosh)?|mac-(?:roman|cyrillic|ukrainian)|user-defined)$/
const decoders = new Map<string, TextDecoder | undefined>()

function findDecoder(charset: string): TextDecoder | undefined {
  const label = charset.replace(/^x-|^cs/, '')
  if (!KNOWN_CHARSETS.test(label)) return undefined
  if (decoders.has(label)) return decoders.get(label)
  const decoder = makeDecoder(label) ?? makeDecoder(`x-${label}`)
  decoders.set(label, decoder)
  return decoder
}

function makeDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(ALIASES[label] ?? label)
  } catch {
    return undefined
  }
}

// Labels seen in mail that the Encoding Standard does not list.
const ALIASES: Partial<Record<string, string>> = Object.assign(Object.create(null), {
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
  'euc-cn': 'gbk',
  'iso-8859-8-e': 'iso-8859-8',
  latin9: 'iso-8859-15',
  tis620: 'windows-874',
  uhc: 'euc-kr',
})

/** RFC 2152. Written by old versions of Outlook; TextDecoder does not support it. */
export function decodeUtf7(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString('latin1')
    .replace(UTF7_SHIFT, (_whole, encoded: string) => (encoded ? fromUtf16(encoded) : '+'))
}

const UTF7_SHIFT = /\+([A-Za-z0-9+/]*)-?/g

function fromUtf16(encoded: string): string {
  const bytes = Buffer.from(encoded, 'base64')
  return bytes
    .subarray(0, bytes.length & ~1)
    .swap16()
    .toString('utf16le')
}

/** Decodes a Content-Transfer-Encoding. With an unknown one the bytes are returned unchanged. */
export function decodeTransfer(bytes: Buffer, encoding: string): Buffer {
  if (encoding === 'base64' && !isPaddedInside(bytes)) {
    return Buffer.from(bytes.toString('latin1'), 'base64')
  }
  const decoding = decoder(bytes, encoding)
  while (!decoding.next());
  return decoding.result()
}

/** The same in steps of a millisecond or two, for a thread that serves requests. */
export async function decodeInSteps(bytes: Buffer, encoding: string): Promise<Buffer> {
  const decoding = decoder(bytes, encoding)
  while (!decoding.next()) await setImmediate()
  return decoding.result()
}

const STEP_BYTES = 256 * 1024

interface Decoding {
  bytes: Buffer
  decoded: Buffer
  /** Read offset in `bytes`, and length of `decoded` so far. */
  at: number
  length: number
  /** base64: bits that do not make a byte yet. */
  pending: number
  bits: number
}

function decoder(bytes: Buffer, encoding: string) {
  const step = STEPS[encoding]
  if (!step) return { next: () => true, result: () => bytes }
  const decoded = Buffer.allocUnsafe(bytes.length)
  const state: Decoding = { bytes, decoded, at: 0, length: 0, pending: 0, bits: 0 }
  return {
    /** True once everything is decoded. */
    next(): boolean {
      step(state, Math.min(bytes.length, state.at + STEP_BYTES))
      return state.at >= bytes.length
    },
    result: () => decoded.subarray(0, state.length),
  }
}

const STEPS: Record<string, (state: Decoding, stop: number) => void> = {
  base64: base64Step,
  'quoted-printable': quotedPrintableStep,
}

/** Node's decoder stops at the first padding; some programs pad every line. */
function isPaddedInside(bytes: Buffer): boolean {
  const padding = bytes.indexOf(EQUALS)
  if (padding < 0) return false
  for (let at = padding; at < bytes.length; at += 1) {
    if (BASE64[bytes[at] ?? 0] !== -1) return true
  }
  return false
}

/** Other characters are skipped; padding ends a group. */
function base64Step(state: Decoding, stop: number): void {
  const { bytes, decoded } = state
  let { length, pending, bits } = state
  for (let at = state.at; at < stop; at += 1) {
    const byte = bytes[at] ?? 0
    const digit = BASE64[byte] ?? -1
    if (digit < 0) {
      if (byte === EQUALS) bits = 0
      continue
    }
    pending = ((pending << 6) | digit) & 0xfff
    bits += 6
    if (bits < 8) continue
    bits -= 8
    decoded[length++] = (pending >> bits) & 0xff
  }
  Object.assign(state, { at: stop, length, pending, bits })
}

const BASE64 = new Int8Array(256).fill(-1)
for (const [value, digit] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries()) {
  BASE64[digit.charCodeAt(0)] = value
}
// base64url; Node's decoder accepts both.
BASE64['-'.charCodeAt(0)] = 62
BASE64['_'.charCodeAt(0)] = 63

/** May read a little past the stop: an escape or a soft line break is not split. */
function quotedPrintableStep(state: Decoding, stop: number): void {
  const { bytes, decoded } = state
  let { at, length } = state
  for (; at < stop; at += 1) {
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
  Object.assign(state, { at, length })
}

const EQUALS = 0x3d
const HEX = new Int8Array(256).fill(-1)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  HEX[digit.charCodeAt(0)] = value
  HEX[digit.toUpperCase().charCodeAt(0)] = value
}

/** Offset of the next line if only blanks precede it, else -1. */
function softBreak(bytes: Buffer, from: number): number {
  let at = from
  // RFC 2045 6.7: a line has at most 76 characters. More blanks than that are text.
  while ((bytes[at] === 0x20 || bytes[at] === 0x09) && at - from < 80) at += 1
  if (at >= bytes.length || bytes[at] === 0x0a) return at + 1
  return bytes[at] === 0x0d && bytes[at + 1] === 0x0a ? at + 2 : -1
}
