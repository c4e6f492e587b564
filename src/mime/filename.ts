import { cleanLine } from '../base/text.ts'

/** A safe name for a download: no path, not empty, nothing hidden or reserved. */
export function safeFilename(name: string, index: number, contentType: string): string {
  const last = name.slice(0, MAX_INPUT).split(/[/\\]/).at(-1) ?? ''
  const cleaned = cleanLine(last, MAX_INPUT)
    .normalize('NFC')
    .replace(HIDDEN, '')
    .replace(/[<>:"|?*]/g, '_')
  const trimmed = trimDots(cleaned)
  if (trimmed === '') return `attachment-${index + 1}${EXTENSIONS[contentType] ?? '.bin'}`
  return shorten(RESERVED.test(trimmed) ? `_${trimmed}` : trimmed)
}

const MAX_INPUT = 4_000
// File systems allow 255 bytes, and browsers append a number or a suffix.
const MAX_BYTES = 200
const MAX_EXTENSION = 20
// Zero-width characters: two names that look the same would differ.
const HIDDEN = /[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\ufffe\uffff]/g
const RESERVED = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i

const EXTENSIONS: Partial<Record<string, string>> = Object.assign(Object.create(null), {
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/webp': '.webp',
  'message/delivery-status': '.txt',
  'message/rfc822': '.eml',
  'text/calendar': '.ics',
  'text/csv': '.csv',
  'text/html': '.html',
  'text/plain': '.txt',
})

function trimDots(name: string): string {
  let start = 0
  let end = name.length
  while (start < end && (name[start] === '.' || name[start] === ' ')) start += 1
  while (end > start && (name[end - 1] === '.' || name[end - 1] === ' ')) end -= 1
  return name.slice(start, end)
}

/** Keeps the extension. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && name.length - dot <= MAX_EXTENSION ? name.slice(dot) : ''
  const room = MAX_BYTES - Buffer.byteLength(extension)
  // A character that was cut becomes U+FFFD.
  const stem = Buffer.from(name)
    .subarray(0, room)
    .toString()
    .replace(/\ufffd+$/, '')
  return trimDots(stem) + extension
}
