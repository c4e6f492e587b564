// The little of DER (X.690) that a certificate is written in.

/** Tag, length, value. */
export function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const value = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(value.length), value])
}

export function sequence(...parts: Uint8Array[]): Buffer {
  return der(0x30, ...parts)
}

export function set(...parts: Uint8Array[]): Buffer {
  return der(0x31, ...parts)
}

/** A positive number, given by its bytes; the top bit would make it negative. */
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

export function utf8String(text: string): Buffer {
  return der(0x0c, Buffer.from(text, 'utf8'))
}

export function octetString(...parts: Uint8Array[]): Buffer {
  return der(0x04, ...parts)
}

/** Whole bytes; the first byte says how many bits of the last are unused. */
export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return der(0x03, Buffer.from([unusedBits]), bytes)
}

export function trueValue(): Buffer {
  return der(0x01, Buffer.from([0xff]))
}

/** RFC 5280 4.1.2.5: two digits of the year before 2050, four from then on. */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, '')}Z`
  const isShort = date.getUTCFullYear() < 2050
  return isShort ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits))
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Buffer.from([0x80 + bytes.length, ...bytes])
}

function base128(number: number): number[] {
  const digits = [number % 128]
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) {
    digits.unshift(128 + (rest % 128))
  }
  return digits
}
