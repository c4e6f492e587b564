import { addressParser, decodeWords } from 'postal-mime'
import { cleanLine } from '../../../../src/base/text.ts'
import { readMailboxes } from '../../../../src/mime/addresses.ts'
import { unfold } from '../../../../src/mime/header-fields.ts'
import { readFromAddresses } from '../../../../src/mime/header-summary.ts'
import {
  decodeEncodedWords,
  parseParameterized,
  readDate,
} from '../../../../src/mime/header-values.ts'
import { displaySender } from '../../../../src/shared/sender-display.ts'
import { scanned } from '../../mail/scan.ts'
import { headerSeeds, MAIL_TOKENS } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

/** Mailboxes that the page shows. */
const SHOWN = 50

/** One header field, read as each kind of field, and by postal-mime. */
export const target: FuzzTarget = {
  seeds: headerSeeds(),
  tokens: MAIL_TOKENS,
  maxBytes: 4 * 1024,
  hangMs: 2_000,
  maxCost: 20,
  run(field) {
    const line = unfold(field.toString('latin1').replace(/^[^\r\n]*?:/, ''))
    const decoded = decodeEncodedWords(line)
    for (const { name, address } of readMailboxes(line).take(SHOWN)) {
      check(!/[\r\n\0]/.test(name + address), 'a line break in an address')
      check(address === '' || /^[^\s].*@[^\s]+$/s.test(address), `not an address: ${address}`)
      displaySender(name, address)
    }
    const { parameters } = parseParameterized(line)
    check(parameters.size <= 1_000, 'too many parameters')
    const date = readDate(line)
    check(date === null || new Date(date).toISOString() === date, `not a date: ${date}`)
    check(cleanLine(decoded, 998).length <= 998, 'a long line')
  },
  compare(field) {
    const line = unfold(field.toString('latin1').replace(/^[^\r\n]*?:/, ''))
    checkBlocking(line)
    compareWords(line, decodeEncodedWords(line))
  },
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it removes
const CONTROL = /[\0-\x1f\x7f]/g
const PLAIN = /^[a-z0-9][a-z0-9._-]{0,63}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,3}$/i

/**
 * Whichever address another program shows, the list of blocked senders must see it. That postal-mime drops what is no letter
 * before an address is its own fault.
 */
function checkBlocking(line: string): void {
  // In names and nested comments, postal-mime finds addresses where no other program does.
  if (/["\\]|=\?|\([^)]*\(|[\s+]\(/.test(line)) return
  const header = scanned(Buffer.from(`From: ${line}`))
  const found = [...readFromAddresses(header)]
  const possible = new Set(found.map((one) => one?.toLowerCase().replace(/\.+$/, '')))
  for (const { address } of addressParser(line, { flatten: true })) {
    if (!address || !PLAIN.test(address)) continue
    const isCut =
      line.replace(CONTROL, '').search(new RegExp(`[^\\s<,;:]${RegExp.escape(address)}`)) >= 0
    check(
      isCut || possible.has(address.toLowerCase()),
      `a sender that cannot be blocked: ${address}`,
    )
  }
}

const WORD = /^(?:=\?utf-8\?(?:q\?[\w=]*|b\?[A-Za-z0-9+/]*={0,2})\?=\s*)+$/i

/** Words of plain UTF-8 mean the same to postal-mime. */
function compareWords(line: string, decoded: string): void {
  if (!WORD.test(line) || decoded.includes('\ufffd')) return
  const other = decodeWords(line)
  check(
    other.includes('\ufffd') || other.trim() === decoded.trim(),
    `decoded as ${decoded}, not ${other}`,
  )
}
