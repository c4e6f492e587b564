import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
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
    test(name, () => assert.equal(toOf({ ...mail } as Partial<Mail>), expected))
  }
})

describe('body', () => {
  const MAX_BYTES = 256 * 1024
  const bodyOf = (text: string | null) => {
    const { body, truncated } = emailRecord(MESSAGE, { ...MAIL, text })
    return { body, truncated }
  }

  test('is empty if the mail has no text', () => {
    assert.deepEqual(bodyOf(null), { body: '', truncated: false })
  })

  test('is complete up to 256 KB', () => {
    const text = 'x'.repeat(MAX_BYTES)
    assert.deepEqual(bodyOf(text), { body: text, truncated: false })
    assert.equal(bodyOf(`${text}x`).truncated, true)
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
        assert.equal(truncated, true)
        assert.ok(text.startsWith(body) && body.endsWith(character))
        const bytes = Buffer.byteLength(body)
        assert.ok(bytes <= MAX_BYTES && bytes > MAX_BYTES - 4, `${bytes} bytes`)
      }
    })
  }

  test('is limited in bytes, not in characters', () => {
    assert.equal(bodyOf('ü'.repeat(MAX_BYTES / 2)).truncated, false)
    assert.equal(bodyOf('ü'.repeat(MAX_BYTES / 2 + 1)).truncated, true)
  })

  test('has lone surrogates replaced, which does not count as truncation', () => {
    const text = `\ud800${'x'.repeat(MAX_BYTES - 3)}`
    assert.equal(bodyOf(text).truncated, false)
    assert.equal(bodyOf(`${text}xx`).truncated, true)
  })
})
