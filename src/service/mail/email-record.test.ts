import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Address } from '../../core/address.ts'
import { EMPTY_MAIL, type Mail, type Message } from '../../core/message.ts'
import { emailRecord } from './emails.ts'

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
}
const MAIL: Mail = { ...EMPTY_MAIL, text: 'text' }
const other = { name: 'Other', address: 'other@box.test' }
const toOf = (mail: Partial<Mail>) => emailRecord(MESSAGE, { ...MAIL, ...mail }).to

describe('to', () => {
  for (const [name, mail, expected] of [
    ['nobody named: the bare address', {}, 'ann@xn--bcher-kva.test'],
    ['others named: the bare address', { to: [other], cc: [other] }, 'ann@xn--bcher-kva.test'],
    [
      'the entry of To',
      { to: [other, { name: 'Ann', address: 'ann@xn--bcher-kva.test' }] },
      'Ann <ann@xn--bcher-kva.test>',
    ],
    [
      'the entry of Cc, in its own spelling',
      { to: [other], cc: [{ name: 'Änn', address: 'Ann@Bücher.test' }] },
      'Änn <Ann@Bücher.test>',
    ],
    ['without a name', { to: [{ name: '', address: 'ANN@Bücher.test' }] }, 'ANN@Bücher.test'],
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
  const MOST = 256 * 1024
  const cutOf = (text: string | null) => {
    const { body, truncated } = emailRecord(MESSAGE, { ...MAIL, text })
    return { body, truncated }
  }

  test('no text is an empty text', () => {
    assert.deepEqual(cutOf(null), { body: '', truncated: false })
  })

  test('256 KB pass whole', () => {
    const text = 'x'.repeat(MOST)
    assert.deepEqual(cutOf(text), { body: text, truncated: false })
    assert.equal(cutOf(`${text}x`).truncated, true)
  })

  for (const [name, letter] of [
    ['two bytes', 'ü'],
    ['three bytes', '\u3042'],
    ['four bytes', '\u{1f98b}'],
  ] as const) {
    test(`a character of ${name} is never cut in two`, () => {
      for (const lead of ['', 'x', 'xx', 'xxx']) {
        const text = lead + letter.repeat(MOST)
        const { body, truncated } = cutOf(text)
        assert.equal(truncated, true)
        assert.ok(text.startsWith(body) && body.endsWith(letter))
        const bytes = Buffer.byteLength(body)
        assert.ok(bytes <= MOST && bytes > MOST - 4, `${bytes} bytes`)
      }
    })
  }

  test('bytes count, not characters', () => {
    assert.equal(cutOf('ü'.repeat(MOST / 2)).truncated, false)
    assert.equal(cutOf('ü'.repeat(MOST / 2 + 1)).truncated, true)
  })

  test('half a character of the sender is replaced, and that alone is no cut', () => {
    const text = `\ud800${'x'.repeat(MOST - 3)}`
    assert.equal(cutOf(text).truncated, false)
    assert.equal(cutOf(`${text}xx`).truncated, true)
  })
})
