import fc from 'fast-check'
import { Check } from 'typebox/schema'
import { describe, expect, test } from 'vitest'
import { parseTo } from '../../keys/emails/emails.ts'
import { parseEmail } from '../../keys/key-sessions.ts'
import { parseFilter, parseSearch } from '../../mail/rules/filter.ts'
import { parsePrefix } from '../../mail/rules/prefix.ts'
import { parseLabel } from '../../mail/rules/session.ts'
import { parseChange } from '../../mail/sessions/session-change.ts'
import { parseRules } from '../../shared/address-rules.ts'
import { parseTarget } from '../../webhooks/target.ts'
import { documentedRoutes } from '../routes.ts'

// A generated client refuses what the server would refuse, and nothing else. Outside ASCII, schemas accept more: what a letter is,
// and which names IDNA allows, no portable pattern can tell.

function inputOf(path: string) {
  const route = documentedRoutes.find((one) => one.path === path && one.input.properties)
  expect.assert(route)
  return route.input
}

function accepts(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch (error) {
    // A name that is taken by us is not malformed.
    return (error as { code?: string }).code === 'reserved_prefix'
  }
}

const CASES: Record<string, [path: string, characters: string, parse: (text: string) => unknown]> =
  {
    prefix: ['/api/create-session', 'aZ0.-_ @', parsePrefix],
    label: ['/api/create-session', 'a \t\x00\x7f', parseLabel],
    only_from: [
      '/api/create-session',
      'aZ0.-_@, [:]"/`~\t\x01',
      (text) => parseRules({ only_from: text }),
    ],
    from: ['/emails', 'aZ0.-_@, [:]"/`~\t\x01', (text) => parseFilter({ from: text })],
    // Without digits: IDNA reads a name that ends with a number as an IPv4 address.
    to: ['/emails', 'aZ.-_+@ <>"/\t', parseTo],
    email: ['/sessions/end', 'aZ.-_+@ <>"/\t', parseEmail],
  }

for (const [name, [path, characters, parse]] of Object.entries(CASES)) {
  test(`${name}: the schema accepts what the server accepts`, () => {
    const schema = inputOf(path).properties[name]
    expect.assert(schema)
    const texts = fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(texts, (text) => {
        expect(Check(schema, text)).toBe(accepts(() => parse(text)))
      }),
      { numRuns: 5_000 },
    )
  })
}

describe('lengths in characters', () => {
  for (const [name, path, most, parse] of [
    ['prefix', '/api/create-session', 64, parsePrefix],
    ['label', '/api/create-session', 60, parseLabel],
    ['subject', '/api/check-mail', 200, (text: string) => parseFilter({ subject: text })],
    ['q', '/api/check-mail', 100, parseSearch],
    ['from', '/api/check-mail', 320, (text: string) => parseFilter({ from: text })],
    ['url', '/webhooks', 2_000, (text: string) => parseTarget(text)],
  ] as const) {
    test(`${name}: at most ${most}`, () => {
      const schema = inputOf(path).properties[name]
      expect.assert(schema)
      const start = name === 'url' ? 'https://a.test/' : ''
      for (const length of [most, most + 1]) {
        const text = start.padEnd(length, 'a')
        expect([Check(schema, text), accepts(() => parse(text))], `${length}`).toStrictEqual(
          length === most ? [true, true] : [false, false],
        )
      }
    })
  }

  test('q: at least 2', () => {
    const { q } = inputOf('/emails').properties
    expect.assert(q)
    expect([Check(q, 'a'), Check(q, '\u{1f98b}'), Check(q, 'ab')]).toStrictEqual([
      ...[false, false, true],
    ])
  })
})

test('create-session: domain and domain_id exclude each other', () => {
  const input = inputOf('/api/create-session')
  for (const given of [{}, { domain: 'box.test' }, { domain_id: 1 }])
    expect(Check(input, given)).toBe(true)
  expect(Check(input, { domain: 'box.test', domain_id: 1 })).toBe(false)
})

test('update-session: at least one setting is given, and only known ones are removed', () => {
  const input = inputOf('/api/update-session')
  for (const given of [
    {},
    { label: 'a' },
    { max_messages: 1 },
    { only_from: 'shop.test' },
    { clear: ['label', 'only_from'] },
    { clear: ['token'] },
    { clear: [] },
  ]) {
    const isAccepted = accepts(() => parseChange(given))
    expect(Check(input, { token: 't', ...given }), JSON.stringify(given)).toBe(isAccepted)
  }
})
