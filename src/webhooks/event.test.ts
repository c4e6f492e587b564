import { Check } from 'typebox/schema'
import { expect, test } from 'vitest'
import type { Address } from '../base/address.ts'
import type { Message } from '../mail/rules/message.ts'
import { EMPTY_MAIL, type Mail } from '../shared/mail.ts'
import { eventBody } from './event.ts'
import { webhookEvents } from './schemas.ts'

const ADDRESS = 'ann@box.test' as Address
const MESSAGE: Message = {
  id: 1,
  rawId: 2,
  recipient: ADDRESS,
  senderName: 'Shop',
  senderEmail: 'shop@shop.test',
  subject: 'Hello',
  receivedAt: new Date('2026-03-01T12:00:00.999Z'),
  size: 300,
  code: undefined,
  preview: undefined,
  attachments: undefined,
  links: undefined,
}
const link = (url: string) => ({ url, text: 'ü', host: 'shop.test', kind: 'other' as const })

/** A body that OpenAPI describes: all of its fields, and no others. */
function documented(body: string) {
  const event = JSON.parse(body)
  const schema = webhookEvents.find(({ type }) => type === event.type)?.body
  expect.assert(schema)
  const { data } = schema.properties
  const strict = { ...schema.properties, data: { ...data, additionalProperties: false } }
  expect(Check({ ...schema, properties: strict }, event), body).toBe(true)
  return event
}

const eventOf = (mail: Partial<Mail> = {}, message: Partial<Message> = {}) => {
  const subject = { message: { ...MESSAGE, ...message }, mail: { ...EMPTY_MAIL, ...mail } }
  const body = eventBody('message.received', MESSAGE.receivedAt, subject)
  expect(Buffer.byteLength(body)).toBeLessThan(20_000)
  return documented(body)
}

test('an event has the fields of an email record without its body, and what was extracted', () => {
  const codes = [
    { value: '123', kind: 'digits', confidence: 0.9 },
    { value: '456', kind: 'digits', confidence: 0.2 },
  ] as const
  const to = [{ name: 'Ann', address: 'Ann@Box.test' }]
  expect(eventOf({ codes: [...codes], links: [link('https://shop.test/')], to })).toEqual({
    type: 'message.received',
    timestamp: '2026-03-01T12:00:00Z',
    data: {
      id: 1,
      address: ADDRESS,
      from: 'shop@shop.test',
      to: 'Ann <Ann@Box.test>',
      subject: 'Hello',
      date: '2026-03-01 12:00:00',
      date_iso: '2026-03-01T12:00:00Z',
      code: '123',
      size: 300,
      attachments: 0,
      links: [link('https://shop.test/')],
    },
  })
})

test('without a code it is null', () => {
  expect(eventOf().data.code).toBe(null)
})

test('links that do not fit are left out, and the event says so', () => {
  const links = Array.from({ length: 1_000 }, (_, at) => link(`https://shop.test/${at}`))
  const { data } = eventOf({ links })
  expect(data.links_truncated).toBe(true)
  expect(data.links.length).toBeGreaterThan(100)
  expect(data.links).toEqual(links.slice(0, data.links.length))
})

test('the event stays small whatever the mail contains', () => {
  const long = '\u0001'.repeat(50_000)
  const to = [{ name: long, address: ADDRESS }]
  const { data } = eventOf({ to, links: [link(long)] }, { subject: 'ü'.repeat(2_000) })
  expect([data.to, data.links]).toEqual([ADDRESS, []])
})
