import { isDeepStrictEqual } from 'node:util'
import { splitAt, transcript } from '../../../../src/smtp/testing/transcript.ts'
import { readIsemail } from '../../smtp/isemail.ts'
import { randomFrom } from '../mutate.ts'
import { bytesOf, mailSeeds } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

const START = 'EHLO a.test\r\nMAIL FROM:<a@a.test>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n'
const ENDS = '\n.\n|\r\n.\n|\r.\r|\r\n.\r|\r\n\0.\r\n|\r\n.\r\r\n|\r\r\n.\r\n|\r\n. \r\n'.split('|')
const commands = (
  'EHLO [127.0.0.1]|HELO a|MAIL FROM:<> SIZE=10 BODY=8BITMIME|MAIL FROM:<a@a.test> SMTPUTF8|RCPT TO:<"a b"@box.test> NOTIFY=NEVER|' +
  'RSET|NOOP x|VRFY a|EXPN a|HELP|STARTTLS|QUIT|BDAT 1 LAST|AUTH PLAIN AA|XCLIENT A=b|GET / HTTP/1.1|SSH-2.0-x|\x16\x03\x01'
).split('|')

export const SMTP_SEEDS: readonly Buffer[] = bytesOf([
  ...ENDS.map((end) => `${START}hi${end}MAIL FROM:<b@a.test>\r\nQUIT\r\n.\r\nQUIT\r\n`),
  ...mailSeeds()
    .filter((_, at) => at % 8 === 0)
    .map((mail) => `${START}${mail.toString('latin1').slice(0, 2_000)}\r\n.\r\nQUIT\r\n`),
  ...commands.map((command) => `EHLO a.test\r\n${command}\r\n${START.slice(13)}..x\r\n.\r\n`),
  ...readIsemail('tests.xml').map(
    ({ address }) => `HELO a\r\nMAIL FROM:<${address}>\r\nRCPT TO:<${address}>\r\n`,
  ),
])
export const SMTP_TOKENS = [
  ...'\r\n|\n|\r|.|\r\n.\r\n|..|RSET\r\n| SIZE=|<|>|"'.split('|'),
  START,
  ...ENDS,
  ...commands,
]

/** The dialogue, without a socket. */
export const target: FuzzTarget = {
  seeds: SMTP_SEEDS,
  tokens: SMTP_TOKENS,
  maxBytes: 8 * 1024,
  run(input) {
    transcript([input])
    // Without TLS: what follows STARTTLS in the same packet is refused, in the next one it is not.
    const limits = { offerTls: false, maxBytes: 2_000, maxCommands: 50 }
    const whole = transcript([input], limits)
    check(/^(?:\d{3}[ -][ -~]*\r\n)*$/.test(whole.replies), 'a malformed reply')
    const random = randomFrom(input.length)
    const offsets = Array.from({ length: 1 + random(20) }, () => random(input.length + 1))
    const parts = transcript(splitAt(input, offsets), limits)
    check(isDeepStrictEqual(parts, whole), `split at ${offsets}, it is another dialogue`)
    const unstuffed = input.toString('latin1').replace(/\r\n\.\./g, '\r\n.')
    for (const { raw } of whole.mails) {
      const mail = Buffer.from(raw).toString('latin1')
      check(raw.length <= 2_000, 'a mail that is too large')
      check(unstuffed.includes(`\r\n${mail}.\r\n`), 'not the bytes that were sent')
    }
    for (const { raw } of transcript([input], { ...limits, refuseBareNewlines: true }).mails) {
      check(!/\r(?!\n)|(?<!\r)\n/.test(Buffer.from(raw).toString('latin1')), 'a bare line break')
    }
    return whole.mails.length > 0
  },
}
