import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseMail } from '../mime/parse.ts'
import { findings } from './findings.ts'

const parse = (...lines: string[]) => parseMail(Buffer.from(lines.join('\r\n')))

describe('the codes and links of a mail', () => {
  test('come from headers, text and HTML together', () => {
    const { codes, links } = parse(
      'From: Gazelle <no-reply@gazelle.test>',
      'Subject: =?UTF-8?Q?G-482913_ist_Ihr_Best=C3=A4tigungscode?=',
      'List-Unsubscribe: <mailto:a@b.test>,',
      ' <https://gazelle.test/out>',
      'Content-Type: multipart/alternative; boundary=b',
      '',
      '--b',
      '',
      'Ihr Code: G-482913. https://gazelle.test/t',
      '--b',
      'Content-Type: text/html',
      '',
      '<p>Ihr Code: <b>G-482913</b></p><a href="https://gazelle.test/v">E-Mail bestätigen</a>',
      '--b--',
    )
    expect(codes.map(({ value }) => value)).toEqual(['482913'])
    expect(links.map(({ url, kind }) => [kind, url])).toEqual([
      ['verify', 'https://gazelle.test/v'],
      ['other', 'https://gazelle.test/t'],
      ['unsubscribe', 'https://gazelle.test/out'],
    ])
  })

  test('are not looked for in attachments', () => {
    const { codes, links } = parse(
      'Content-Type: text/plain',
      'Content-Disposition: attachment; filename=a.txt',
      '',
      'Your code is 482913: https://a.test/verify',
    )
    expect({ codes, links }).toEqual({ codes: [], links: [] })
  })

  test('are none where there is nothing', () => {
    expect(parse('')).toMatchObject({ codes: [], links: [] })
  })
})

const PIECES =
  'code|Your code is |: |482913|482 913|7F3K-9QXZ|\n|\t| |<p>|<a href="|https://a.test/|">|</a>|<td>|&#|' +
  '验证码|٤٨|mã |\u0301|\ud800|👋|order |#|@a.test #|<style>|<!--|is |http://|@|%|(|verify'
const text = fc
  .array(fc.oneof(fc.constantFrom(...PIECES.split('|')), fc.string({ unit: 'binary' })))
  .map((pieces) => pieces.join(''))

test('whatever strangers write, they are few, short and plain', () => {
  fc.assert(
    fc.property(text, text, text, (subject, plain, html) => {
      const headers = { otpToken: plain, listUnsubscribe: html, sender: undefined }
      const { codes, links } = findings({ ...headers, subject, plain, html })
      expect(codes.length).toBeLessThanOrEqual(5)
      for (const { value, confidence } of codes) {
        expect(value).toMatch(/^[0-9A-Za-z-]{4,64}$/)
        expect(confidence).toBeGreaterThanOrEqual(0.5)
      }
      for (const { url, text, host } of links) {
        expect(url).toMatch(/^https?:\/\/[!-~]+$/)
        expect(host).toMatch(/^[!-~]+$/)
        expect(text.isWellFormed() && text.length <= 200).toBe(true)
      }
      expect(JSON.parse(JSON.stringify({ codes, links }))).toEqual({ codes, links })
    }),
    { numRuns: process.env['MAYFLY_TEST_LONG'] ? 4_000 : 500 },
  )
})
