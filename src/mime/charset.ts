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
// A mail can make up labels without end, and a refused one is slow to refuse: only these are tried, and remembered.
// ASCII is not among them, because many who say so send something else; the fallback reads ASCII just as well.
const PLAUSIBLE =
  /^(?:utf-?8|utf-?16(?:le|be)?|ucs-?2|unicode|iso[-_]?8859-?\d{1,2}(?:-[ei])?|latin[1-6]|l[1-6]|windows-?\d{3,4}|cp-?\d{3,5}|ms-?\d{3}|ibm-?\d{3,4}|koi8?(?:-[ru]{1,2})?|gb[-_]?2312|gbk|gb18030|big5(?:-hkscs)?|cn-big5|euc[-_]?(?:jp|kr|cn|tw)|s(?:hift)?[-_]?jis|ms_kanji|iso-?2022-?(?:jp|kr|cn)(?:-[123])?|ks_c_5601-19\d\d|ksc5601|korean|chinese|uhc|tis-?620|mac(?:intosh)?|mac-(?:roman|cyrillic|ukrainian)|user-defined)$/
const known = new Map<string, TextDecoder | undefined>()

function findDecoder(charset: string): TextDecoder | undefined {
  const label = charset.replace(/^x-|^cs/, '')
  if (!PLAUSIBLE.test(label)) return undefined
  if (known.has(label)) return known.get(label)
  const decoder = makeDecoder(label) ?? makeDecoder(`x-${label}`)
  known.set(label, decoder)
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
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
  'euc-cn': 'gbk',
  'iso-8859-8-e': 'iso-8859-8',
  'iso-2022-jp-1': 'iso-2022-jp',
  'iso-2022-jp-2': 'iso-2022-jp',
  'iso-2022-jp-3': 'iso-2022-jp',
  latin9: 'iso-8859-15',
  tis620: 'windows-874',
  uhc: 'euc-kr',
})
