import { describe, expect, test } from 'vitest'
import { NO_RULES, parseRules, ruleRefusal } from './address-rules.ts'

describe('only_from', () => {
  test('takes addresses and domains, without case and duplicates', () => {
    const { onlyFrom } = parseRules({ only_from: ' Shop.test, ann@Other.test ,shop.TEST' })
    expect(onlyFrom).toEqual(['shop.test', 'ann@other.test'])
  })

  test('takes ten, and not eleven', () => {
    const senders = Array.from({ length: 11 }, (_, at) => `s${at}.test`)
    expect(parseRules({ only_from: senders.slice(1).join() }).onlyFrom.length).toBe(10)
    expect(() => parseRules({ only_from: senders.join() })).toThrow(/^only_from: /)
  })

  for (const text of ['@shop.test', 'a b', 'shop.test,', ',', 'shop.test,,other.test']) {
    test(`does not take ${JSON.stringify(text)}`, () => {
      const invalid = expect.objectContaining({ code: 'invalid_parameter' })
      expect(() => parseRules({ only_from: text })).toThrow(invalid)
    })
  }

  for (const [name, from, expected] of [
    ['accepts the sender', { address: 'ann@mail.shop.test' }, undefined],
    ['refuses another one', { address: 'ann@other.test' }, 'sender_not_allowed'],
    ['refuses a mail without one From header', { address: undefined }, 'sender_not_allowed'],
    ['does not decide before the header is known', undefined, undefined],
  ] as const) {
    test(name, () => {
      const rules = parseRules({ only_from: 'shop.test' })
      expect(ruleRefusal({ rules, received: 0 }, from)).toBe(expected)
    })
  }
})

test('the message after the last one allowed is refused, whoever sends it', () => {
  const rules = parseRules({ max_messages: 2, only_from: 'shop.test' })
  const from = { address: 'ann@shop.test' }
  expect(ruleRefusal({ rules, received: 1 }, from)).toBeUndefined()
  for (const sender of [from, { address: 'eve@other.test' }, undefined]) {
    expect(ruleRefusal({ rules, received: 2 }, sender)).toBe('limit_reached')
  }
})

test('without rules everything is accepted', () => {
  expect(parseRules({})).toEqual(NO_RULES)
  expect(
    ruleRefusal({ rules: NO_RULES, received: 1_000_000 }, { address: undefined }),
  ).toBeUndefined()
})
