import { describe, expect, test } from 'vitest'
import { cleanLine } from './clean.ts'
import { readDate } from './date.ts'
import { safeFilename } from './filename.ts'
import { unflow } from './flowed.ts'
import { readHead } from './head.ts'
import { textFromHtml } from './html-text.ts'
import { readAddress, readMailboxes } from './mailbox.ts'
import { readStructured } from './parameters.ts'
import { parseMail } from './parse.ts'
import { decodeTransfer } from './transfer.ts'
import { decodeUtf7 } from './utf7.ts'
import { decodeWords } from './words.ts'

// Whatever a sender repeats, the time to read it grows with its length and no faster. Measured in computing time of
// this thread, the best of several, over four times the length: a square would show as 16, and 10 is what we allow.

const REPEATED = [
  ...['a', ' ', '<', '(', '=?', '@.', 'xn--', '&#', '/*', '--', '"', '\\', ';', '[', ',', ':', '>'],
  ...['\t', '\r', '\n', '\r\n ', '%', "'", '=', '*', '.', '+', '\0', '\u00e4', '\ud800', '\u202e'],
  ...['a ', 'a@', '<a@b', '@[', '=?u?q?', '=?u?q?a?=', '=?u?b?a?= ', ';a=', ';a*0=b', 'a;"', '> '],
  ...['@ ', '@, ', ' @', '. ', '@a,', '<@ ', '"@', ' \t', '; ', '="', "a'", '*0*=%', 'a-', '1:'],
  ...['<a ', '<!--', '</', '<p>', '<b>', '=\n', '=4', '1 ', '1 Jan ', '\\"', '( ', ')('],
]

const READERS: [string, (text: string) => unknown][] = [
  ['the header look', (text) => readHead(Buffer.from(`From: ${text}\nSubject: ${text}\n\n`), text)],
  ['the header look at names', (text) => readHead(Buffer.from(text), '')],
  ['mailboxes', (text) => [...readMailboxes(text)]],
  // Longer ones are refused unread: what is short must not grow without bounds either.
  ['an address', (text) => readAddress(text.slice(0, 600))],
  ['an address in brackets', (text) => [...readMailboxes(`<${text.slice(0, 600)}>`)]],
  ['a short date', (text) => readDate(`1 Jan 2026 ${text.slice(0, 90)}`)],
  ['encoded words', decodeWords],
  ['parameters', (text) => readStructured(`a/b; ${text}`)],
  ['a date', readDate],
  ['a file name', (text) => safeFilename(text, 0, '')],
  ['a line', (text) => cleanLine(text, 998)],
  ['flowed text', (text) => unflow(text, true)],
  ['UTF-7', (text) => decodeUtf7(Buffer.from(text))],
  ['quoted-printable', (text) => decodeTransfer(Buffer.from(text), 'quoted-printable')],
  ['base64', (text) => decodeTransfer(Buffer.from(text), 'base64')],
  ['HTML', textFromHtml],
  ['a whole mail', (text) => parseMail(Buffer.from(`To: ${text}\nX: ${text}\n\n${text}`))],
]

describe('the time to read', () => {
  for (const [name, read] of READERS) {
    test(`${name} grows no faster than the text`, () => {
      const steep = REPEATED.map((piece) => ({ piece, ...growth(read, piece) })).filter(
        ({ ratio, longMs }) => longMs > 200 || (longMs > 40 && ratio > 10),
      )
      expect(steep).toEqual([])
    })
  }
})

function growth(read: (text: string) => unknown, piece: string) {
  const shortMs = best(read, piece.repeat(Math.ceil(16_384 / piece.length)))
  const longMs = best(read, piece.repeat(Math.ceil(65_536 / piece.length)))
  return { ratio: longMs / Math.max(shortMs, 0.05), longMs }
}

function best(read: (text: string) => unknown, text: string): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3; round += 1) {
    const before = process.threadCpuUsage()
    read(text)
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}
