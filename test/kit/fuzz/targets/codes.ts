import { findCodesAndLinks } from '../../../../src/codes/extract.ts'
import { textSeeds } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

/** The search for codes and links, in the text of mails. */
export const target: FuzzTarget = {
  seeds: textSeeds(),
  tokens: (
    'code|Your code is |: |482913|482 913|7F3K-9QXZ|\n|\t| |<p>|<a href="|https://a.test/|">|</a>|<td>|&#|&amp;|' +
    '验证码|रहस्य|รหัส|코드|ab-cde-fgh|A-4829|1.|,5分|auth code|<h1>|٤٨|mã |\u0301|👋|order |#|<style>|<!--|-->|is |http://|@|%|(|verify'
  ).split('|'),
  maxBytes: 16 * 1024,
  run(input) {
    const text = input.toString()
    const half = Math.floor(text.length / 2)
    const sender = { name: text.slice(0, 40), address: 'a@a.test' }
    const subject = text.slice(0, 200)
    const rest = { sender, subject, otpToken: text.slice(-50), listUnsubscribe: text.slice(-300) }
    const contents = [
      { plain: text, html: '' },
      { plain: '', html: text },
      { plain: text.slice(0, half), html: text.slice(half) },
    ]
    const found = contents.map((content) => findCodesAndLinks({ ...rest, ...content }))
    for (const one of found) checkFound(one)
    return found.some(({ codes, links }) => codes.length + links.length > 0)
  },
}

function checkFound({ codes, links }: ReturnType<typeof findCodesAndLinks>): void {
  check(codes.length <= 5, 'too many codes')
  for (const { value, confidence } of codes) {
    const isCode = /^[0-9A-Za-z-]{4,64}$|^[a-z]{3,12}(?: [a-z]{3,12}){2,3}$/.test(value)
    check(isCode, `not a code: ${JSON.stringify(value)}`)
    check(confidence >= 0.5 && confidence <= 1, `a confidence of ${confidence}`)
  }
  for (const { url, text, host } of links) {
    check(/^https?:\/\/[!-~]+$/.test(url) && URL.canParse(url), `not a link: ${url}`)
    check(/^[!-~]+$/.test(host), `not a host: ${host}`)
    check(text.isWellFormed() && text.length <= 200, 'the text of a link')
  }
}
