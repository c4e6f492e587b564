import { isDeepStrictEqual } from 'node:util'
import { readFromAddresses, readHead } from '../../../../src/mime/header-summary.ts'
import { parseMail } from '../../../../src/mime/parse.ts'
import type { Mail } from '../../../../src/shared/mail.ts'
import { scanned } from '../../mail/scan.ts'
import { MAIL_TOKENS, mailSeeds } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

/** A whole mail. */
export const target: FuzzTarget = {
  seeds: mailSeeds(),
  tokens: MAIL_TOKENS,
  maxBytes: 32 * 1024,
  run(raw) {
    const mail = parseMail(raw)
    checkMail(mail, raw)
    checkSender(mail, raw)
    return mail.headers.length > 0 && (mail.text !== '' || mail.attachments.length > 0)
  },
}

/** Longer ones are cut at intake. */
const MAX_FROM_BYTES = 4_096

function checkSender({ from: [first] }: Mail, raw: Buffer): void {
  const head = scanned(raw)
  const { start, end } = head.first.get('from') ?? { start: 0, end: 0 }
  if (end - start > MAX_FROM_BYTES) return
  const { senderName, senderEmail } = readHead(head, '')
  check(senderEmail === (first?.address ?? ''), 'lists show another sender than the mail')
  check(senderName === (first?.name ?? ''), 'lists show another name than the mail')
  const possible = [...readFromAddresses(head)]
  check(senderEmail === '' || possible.includes(senderEmail), 'the sender cannot be blocked')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\x00-\x1f\x7f-\x9f]/
const UNSAFE_NAME = /[/\\<>:"|?*]|^[. ]|^$/

/** What everything behind the parser relies on. */
function checkMail(mail: Mail, raw: Buffer): void {
  const stored: unknown = JSON.parse(JSON.stringify(mail))
  check(isDeepStrictEqual(stored, mail), 'the result is not plain JSON')
  const lines = [
    ...[...mail.from, ...mail.to, ...mail.cc, ...mail.replyTo].flatMap((one) => [
      one.name,
      one.address,
    ]),
    ...mail.headers.flatMap((one) => [one.name, one.value]),
    ...mail.attachments.flatMap((one) => [one.filename, one.contentType, one.contentId ?? '']),
    ...mail.codes.map((one) => one.value),
    ...mail.links.flatMap((one) => [one.url, one.host, one.text]),
  ]
  for (const line of lines) {
    check(!CONTROL.test(line), `a control character in ${JSON.stringify(line.slice(0, 80))}`)
    check(line.isWellFormed(), `half a surrogate pair in ${JSON.stringify(line.slice(0, 80))}`)
  }
  for (const text of [mail.text ?? '', mail.html ?? '']) {
    check(text.isWellFormed() && !text.includes('\0'), 'text that a database refuses')
  }
  check(mail.text !== null, 'no text')
  check(
    (mail.text?.length ?? 0) <= 10 * raw.length + 100_000,
    'text that is much longer than the mail',
  )
  for (const { filename, size, position } of mail.attachments) {
    check(!UNSAFE_NAME.test(filename), `an unsafe file name: ${JSON.stringify(filename)}`)
    const { start, end } = position
    check(start >= 0 && start <= end && end <= raw.length, 'an attachment outside the mail')
    check(size <= end - start, 'an attachment that is longer than its part')
  }
  check(mail.codes.length <= 5, 'too many codes')
  for (const { url } of mail.links) check(/^https?:\/\/[!-~]+$/.test(url), `a link to ${url}`)
}
