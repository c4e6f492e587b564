import { decodeWords } from 'postal-mime'
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

/** One header field, read as each kind of field; its encoded words by postal-mime, too. */
export const target: FuzzTarget = {
  seeds: headerSeeds(),
  tokens: MAIL_TOKENS,
  maxBytes: 4 * 1024,
  run(field) {
    const line = unfold(field.toString('latin1').replace(/^[^\r\n]*?:/, ''))
    const decoded = decodeEncodedWords(line)
    const mailboxes = [...readMailboxes(line).take(SHOWN)]
    for (const { name, address } of mailboxes) {
      check(!/[\r\n\0]/.test(name + address), 'a line break in an address')
      check(address === '' || /^[^\s].*@[^\s]+$/s.test(address), `not an address: ${address}`)
      displaySender(name, address)
    }
    const { parameters } = parseParameterized(line)
    check(parameters.size <= 1_000, 'too many parameters')
    const date = readDate(line)
    check(date === null || new Date(date).toISOString() === date, `not a date: ${date}`)
    check(cleanLine(decoded, 998).length <= 998, 'a long line')
    const isAddress = mailboxes.some(({ address }) => address !== '')
    return isAddress || parameters.size > 0 || date !== null || decoded !== line
  },
  compare(field) {
    const line = unfold(field.toString('latin1').replace(/^[^\r\n]*?:/, ''))
    checkBlocking(line)
    compareWords(line, decodeEncodedWords(line))
  },
}

/** Whichever of its addresses is shown, the list of blocked senders must see it. */
function checkBlocking(line: string): void {
  const found = [...readFromAddresses(scanned(Buffer.from(`From: ${line}`)))]
  const possible = new Set(found.map((one) => one?.replace(/\.+$/, '')))
  for (const { address } of readMailboxes(line)) {
    const isSeen = possible.has(address.replace(/\.+$/, ''))
    check(isSeen, `a sender that cannot be blocked: ${address}`)
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
