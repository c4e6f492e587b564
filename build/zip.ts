import { crc32, deflateRawSync } from 'node:zlib'

// A zip archive (PKWARE's APPNOTE) of small files, with the same bytes whenever it is made.

/** 1980-01-01, the first day of the format. */
const DATE = 0x21
const VERSION = 20
const DEFLATED = 8
/** Names are UTF-8. */
const FLAGS = 0x800

export function zip(files: readonly (readonly [name: string, content: Buffer])[]): Buffer {
  const local: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const [name, content] of files) {
    const path = Buffer.from(name)
    const data = deflateRawSync(content, { level: 9 })
    const sizes = [crc32(content), data.length, content.length]
    const common = [
      ...u16(VERSION, FLAGS, DEFLATED, 0, DATE),
      ...u32(...sizes),
      ...u16(path.length, 0),
    ]
    const entry = Buffer.concat([Buffer.from([...u32(0x04034b50), ...common]), path, data])
    const attributes = [...u16(0, 0, 0), ...u32(0, offset)]
    central.push(Buffer.from([...u32(0x02014b50), ...u16(VERSION), ...common, ...attributes]), path)
    local.push(entry)
    offset += entry.length
  }
  const directory = Buffer.concat(central)
  const counts = u16(0, 0, files.length, files.length)
  const end = [...u32(0x06054b50), ...counts, ...u32(directory.length, offset), ...u16(0)]
  return Buffer.concat([...local, directory, Buffer.from(end)])
}

const u16 = (...values: number[]) => values.flatMap((value) => [value & 255, value >>> 8])
const u32 = (...values: number[]) =>
  values.flatMap((value) => [0, 8, 16, 24].map((shift) => (value >>> shift) & 255))
