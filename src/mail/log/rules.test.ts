import { describe, expect, test } from 'vitest'
import {
  addressHash,
  eventHashes,
  type MailLogEvent,
  mailLogKey,
  mailLogLine,
  maskRecipient,
} from './rules.ts'

const KEY = new Uint8Array(32).fill(7)

const event = (more: Partial<MailLogEvent> = {}): MailLogEvent => ({
  at: new Date(0),
  result: 'accepted',
  reason: '',
  command: 'DATA',
  ...more,
})

describe('a recipient is masked', () => {
  for (const [address, wildcard, masked] of [
    ['lauren@box.test', false, 'l…n@box.test'],
    ['anita@box.test', false, 'a…a@box.test'],
    ['anna@box.test', false, '…@box.test'],
    ['a@box.test', false, '…@box.test'],
    ['Lauren@BOX.test', false, 'L…n@box.test'],
    ['joe.miller+tag@gmail.com', false, 'j…r+…@gmail.com'],
    ['joe+secret@gmail.com', false, '…+…@gmail.com'],
    ['joe.miller+a+b@gmail.com', false, 'j…r+…@gmail.com'],
    ['+tag@gmail.com', false, '…+…@gmail.com'],
    ['lauren@label.box.test', true, 'l…n@….box.test'],
    ['lauren@label.box.test', false, 'l…n@label.box.test'],
    ['lauren@box.test', true, 'l…n@box.test'],
    ['postmaster', false, '…'],
    ['"a b c"@box.test', false, '"…"@box.test'],
    ['\u{1f984}abc\u{1f984}@box.test', false, '\u{1f984}…\u{1f984}@box.test'],
    ['lauren@evil\u001b[2J\u202e.test', false, 'l…n@evil\\u001b[2j\\u202e.test'],
    ['\u202elauren\u001b@box.test', false, '\\u202e…\\u001b@box.test'],
    [`lauren@${'x'.repeat(900)}`, false, `l…n@${'x'.repeat(120)}…`],
  ] as const) {
    test(`${JSON.stringify(address.slice(0, 40))}${wildcard ? ' of a wildcard' : ''}`, () =>
      expect(maskRecipient({ address, wildcard })).toBe(masked))
  }
})

describe('a line', () => {
  const recipients = [{ address: 'lauren@label.box.test', wildcard: true }]
  const sender = 'Ann.Smith=x@Sender.test'

  test('shows the domain of the sender and masked recipients', () => {
    const line = mailLogLine(
      event({ sender, recipients, account: 'joe.miller@gmail.com' }),
      'masked',
    )
    expect(line).toMatchObject({
      sender: 'sender.test',
      recipients: 'l…n@….box.test',
      account: 'j…r@gmail.com',
    })
  })

  test('shows whole addresses if the operator wants them', () => {
    const line = mailLogLine(event({ sender, recipients, account: 'joe@gmail.com' }), 'full')
    expect(line).toMatchObject({
      sender,
      recipients: 'lauren@label.box.test',
      account: 'joe@gmail.com',
    })
  })

  test('of a bounce has <> as its sender, and before MAIL none', () => {
    expect(mailLogLine(event({ sender: '' }), 'masked').sender).toBe('<>')
    expect(mailLogLine(event(), 'masked').sender).toBe('')
  })

  test('names ten recipients, and how many more there are', () => {
    const many = Array.from({ length: 12 }, (_, at) => ({ address: `number${at}@box.test` }))
    const shown = mailLogLine(event({ recipients: many }), 'masked').recipients.split(', ')
    expect(shown).toHaveLength(11)
    expect(shown.at(-1)).toBe('and 2 more')
  })

  for (const mode of ['masked', 'full'] as const) {
    test(`escapes and caps what a client wrote (${mode})`, () => {
      const hostile = `\u001b]0;x\u0007\u009b2J\r\n\u2028\u202e\ud800${'h'.repeat(500)}`
      const line = mailLogLine(
        event({
          helo: hostile,
          sender: `${hostile}@${hostile}`,
          recipients: [{ address: `${hostile}@${hostile}` }],
        }),
        mode,
      )
      const text = JSON.stringify(Object.values(line))
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
      expect(Object.values(line).join('')).not.toMatch(/[\0-\x1f\x7f-\x9f\u2028-\u202e\ud800]/)
      expect(text.length).toBeLessThan(1_500)
    })
  }
})

describe('the hash of an address', () => {
  const hash = (address: string, role: 'to' | 'from' = 'to', key = KEY) =>
    addressHash(key, role, address)

  for (const [name, other] of [
    ['another spelling of it', 'Lauren@BÜCHER.test'],
    ['its domain in A-labels', 'lauren@xn--bcher-kva.test'],
  ] as const) {
    test(`is the same for ${name}`, () => expect(hash(other)).toBe(hash('lauren@bücher.test')))
  }

  for (const [name, other] of [
    ['another address', hash('laura@bücher.test')],
    ['a sender', hash('lauren@bücher.test', 'from')],
    ['another installation', hash('lauren@bücher.test', 'to', new Uint8Array(32))],
  ] as const) {
    test(`is different for ${name}`, () => expect(other).not.toBe(hash('lauren@bücher.test')))
  }

  test('depends on the secret of the installation', () => {
    expect(mailLogKey(KEY)).not.toEqual(KEY)
    expect(mailLogKey(KEY)).not.toEqual(mailLogKey(new Uint8Array(32)))
  })

  test('is that of each recipient, once, and of the sender', () => {
    const recipients = ['a@box.test', 'A@box.test', 'b@box.test'].map((address) => ({ address }))
    const expected = [hash('a@box.test'), hash('b@box.test'), hash('s@x.test', 'from')]
    expect(eventHashes(KEY, event({ sender: 'S@x.test', recipients }))).toEqual(expected)
    expect(eventHashes(KEY, event({ sender: '' }))).toEqual([])
  })
})
