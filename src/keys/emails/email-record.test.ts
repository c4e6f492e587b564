import { describe, expect, test } from 'vitest'
import type { Address } from '../../base/address.ts'
import type { Message } from '../../mail/rules/message.ts'
import { EMPTY_MAIL, type Mail } from '../../shared/mail.ts'
import { emailRecord } from './email-record.ts'

const MESSAGE: Message = {
  id: 7,
  rawId: 1,
  recipient: 'ann@xn--bcher-kva.test' as Address,
  senderName: 'Bob',
  senderEmail: 'bob@sender.test',
  subject: 'Hello',
  receivedAt: new Date('2026-03-01T12:00:00Z'),
  size: 100,
  code: undefined,
  preview: undefined,
  attachments: undefined,
  links: undefined,
}
const MAIL: Mail = { ...EMPTY_MAIL, text: 'text' }
const other = { name: 'Other', address: 'other@box.test' }
const toOf = (mail: Partial<Mail>) => emailRecord(MESSAGE, { ...MAIL, ...mail }).to

describe('to', () => {
  for (const [name, mail, expected] of [
    ['no entry in To or Cc: the bare address', {}, 'ann@xn--bcher-kva.test'],
    [
      'only other entries: the bare address',
      { to: [other], cc: [other] },
      'ann@xn--bcher-kva.test',
    ],
    [
      'its entry in To',
      { to: [other, { name: 'Ann', address: 'ann@xn--bcher-kva.test' }] },
      'Ann <ann@xn--bcher-kva.test>',
    ],
    [
      'its entry in Cc, as spelled there',
      { to: [other], cc: [{ name: 'Änn', address: 'Ann@Bücher.test' }] },
      'Änn <Ann@Bücher.test>',
    ],
    [
      'an entry without a name',
      { to: [{ name: '', address: 'ANN@Bücher.test' }] },
      'ANN@Bücher.test',
    ],
    [
      'a name that needs quotes',
      { to: [{ name: 'Lee, "Ann" \\', address: 'ann@bücher.test' }] },
      '"Lee, \\"Ann\\" \\\\" <ann@bücher.test>',
    ],
    [
      'To before Cc',
      {
        to: [{ name: 'in To', address: 'ann@bücher.test' }],
        cc: [{ name: 'in Cc', address: 'ann@bücher.test' }],
      },
      'in To <ann@bücher.test>',
    ],
  ] as const) {
    test(name, () => expect(toOf({ ...mail } as Partial<Mail>)).toBe(expected))
  }
})

describe('body', () => {
  const MAX_BYTES = 256 * 1024
  const bodyOf = (text: string | null) => {
    const { body, truncated } = emailRecord(MESSAGE, { ...MAIL, text })
    return { body, truncated }
  }

  test('is empty if the mail has no text', () => {
    expect(bodyOf(null)).toStrictEqual({ body: '', truncated: false })
  })

  test('is complete up to 256 KB', () => {
    const text = 'x'.repeat(MAX_BYTES)
    expect(bodyOf(text)).toStrictEqual({ body: text, truncated: false })
    expect(bodyOf(`${text}x`).truncated).toBe(true)
  })

  for (const [name, character] of [
    ['two bytes', 'ü'],
    ['three bytes', '\u3042'],
    ['four bytes', '\u{1f98b}'],
  ] as const) {
    test(`is never cut within a character of ${name}`, () => {
      for (const prefix of ['', 'x', 'xx', 'xxx']) {
        const text = prefix + character.repeat(MAX_BYTES)
        const { body, truncated } = bodyOf(text)
        expect(truncated).toBe(true)
        expect(text.startsWith(body) && body.endsWith(character)).toBeTruthy()
        const bytes = Buffer.byteLength(body)
        expect(bytes <= MAX_BYTES && bytes > MAX_BYTES - 4, `${bytes} bytes`).toBeTruthy()
      }
    })
  }

  test('is limited in bytes, not in characters', () => {
    expect(bodyOf('ü'.repeat(MAX_BYTES / 2)).truncated).toBe(false)
    expect(bodyOf('ü'.repeat(MAX_BYTES / 2 + 1)).truncated).toBe(true)
  })

  test('has lone surrogates replaced, which does not count as truncation', () => {
    const text = `\ud800${'x'.repeat(MAX_BYTES - 3)}`
    expect(bodyOf(text).truncated).toBe(false)
    expect(bodyOf(`${text}xx`).truncated).toBe(true)
  })
})
