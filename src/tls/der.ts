// The subset of DER (X.690) that certificates and signing requests need.

export const OCTET_STRING = 0x04
export const UTF8_STRING = 0x0c
export const SET = 0x31

/** Tag, length, value. */
export function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const value = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(value.length)]), value])
}

export function sequence(...parts: Uint8Array[]): Buffer {
  return der(0x30, ...parts)
}

/** A leading zero byte keeps a number with the top bit set positive. */
export function positiveInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? Buffer.from([0]) : bytes.subarray(first)
  const sign = (digits[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0)
  return der(0x02, sign, digits)
}

/** `1.2.840.10045.4.3.2` */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** The first byte is the number of unused bits in the last. */
export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return der(0x03, Buffer.from([unusedBits]), bytes)
}

/** RFC 5280 4.1.2.5: UTCTime before 2050, GeneralizedTime from then on. */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, '')}Z`
  const isShort = date.getUTCFullYear() < 2050
  return isShort ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits))
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length]
  const bytes = digitsOf(length, 256)
  return [0x80 + bytes.length, ...bytes]
}

/** All bytes but the last have the top bit set. */
function base128(number: number): number[] {
  return digitsOf(number, 128).map((digit, at, all) => digit + (at < all.length - 1 ? 128 : 0))
}

function digitsOf(number: number, base: number): number[] {
  return number < base ? [number] : [...digitsOf(Math.floor(number / base), base), number % base]
}
