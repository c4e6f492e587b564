import { isUtf8 } from 'node:buffer'
import { decodeUtf7 } from './utf7.ts'

/** Bytes as text. A charset nobody knows: UTF-8 where the bytes are that, else Windows-1252. Never throws. */
export function decodeBytes(bytes: Uint8Array, charset: string): string {
  const label = charset.trim().toLowerCase()
  if (UTF7.test(label)) return decodeUtf7(bytes)
  // The Encoding Standard reads a bare `utf-16` as little-endian, whatever the mark in front says.
  const bigEndian = label === 'utf-16' && bytes[0] === 0xfe && bytes[1] === 0xff
  const decoder = findDecoder(bigEndian ? 'utf-16be' : label)
  if (decoder) return decoder.decode(bytes)
  return isUtf8(bytes) ? UTF8.decode(bytes) : WESTERN.decode(bytes)
}

const UTF7 = /^(?:x-)?(?:unicode-1-1-|unicode-2-0-|cs)?utf-?7$/
const UTF8 = new TextDecoder('utf-8')
const WESTERN = new TextDecoder('windows-1252')
// A mail can make up labels without end, and a refused one is slow to refuse: both kinds are remembered, up to a point.
const MAX_KNOWN = 500
const known = new Map<string, TextDecoder | undefined>()

function findDecoder(label: string): TextDecoder | undefined {
  // Many senders say ASCII and send something else; the fallback reads ASCII just as well.
  if (label === '' || label === 'us-ascii' || label === 'ascii' || label.length > 40) {
    return undefined
  }
  if (known.has(label)) return known.get(label)
  const decoder = makeDecoder(label) ?? makeDecoder(label.replace(/^x-|^cs/, ''))
  if (known.size < MAX_KNOWN) known.set(label, decoder)
  return decoder
}

function makeDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(ALIASES[label] ?? label)
  } catch {
    return undefined
  }
}

// Names seen in mail that the Encoding Standard does not list.
const ALIASES: Partial<Record<string, string>> = Object.assign(Object.create(null), {
  'cp-850': 'windows-1252',
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
  'iso-8859-8-e': 'iso-8859-8',
  'iso-2022-jp-1': 'iso-2022-jp',
  'iso-2022-jp-2': 'iso-2022-jp',
  tis620: 'windows-874',
})
