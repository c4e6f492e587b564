import { describe, expect, test } from 'vitest'
import { leavePath, otherHost, parseLink } from './link-target.ts'

describe('a link on the web', () => {
  for (const [name, link, host, warnings] of [
    ['has a host', 'https://a.test/b?c#d', 'a.test', []],
    ['with http is not encrypted', 'http://a.test/', 'a.test', ['unencrypted']],
    ['goes to the host after the @', 'https://bank.test@evil.test/', 'evil.test', ['userinfo']],
    [
      'goes to the host after the @, with a password too',
      'https://bank.test:443@evil.test/',
      'evil.test',
      ['userinfo'],
    ],
    [
      'with other letters is shown in punycode',
      'https://аррӏе.test/',
      'xn--80ak6aa92e.test',
      ['lookalikes'],
    ],
    [
      'in punycode has a warning',
      'https://x.xn--80ak6aa92e.test/',
      'x.xn--80ak6aa92e.test',
      ['lookalikes'],
    ],
    ['may go to an IP address', 'https://192.0.2.1/', '192.0.2.1', ['ip']],
    ['may hide an IP address', 'https://0xC0000201/', '192.0.2.1', ['ip']],
    ['may go to an IPv6 address', 'https://[2001:db8::1]/', '[2001:db8::1]', ['ip']],
    ['has its port shown', 'https://a.test:8443/', 'a.test:8443', ['port']],
    ['does not show the default port', 'https://a.test:443/', 'a.test', []],
    [
      'with backslashes is parsed as browsers do',
      'https:\\\\evil.test\\@bank.test',
      'evil.test',
      [],
    ],
    ['may lack a scheme', '//a.test/b', 'a.test', []],
    ['is trimmed', '  https://a.test/ \n', 'a.test', []],
  ] as const) {
    test(name, () => {
      const found = parseLink(link)
      expect(found.kind).toBe('web')
      expect(found.host).toBe(host)
      expect(found.warnings).toStrictEqual(warnings)
      expect(new URL(found.href).host).toBe(host)
    })
  }
})

for (const [name, link, expected] of [
  [
    'a script is never opened',
    'javascript:alert(1)',
    { kind: 'other', scheme: 'javascript', href: 'javascript:alert(1)' },
  ],
  [
    'a script in mixed case with a tab is never opened',
    'JaVa\tScript:alert(1)',
    { kind: 'other', scheme: 'javascript', href: 'javascript:alert(1)' },
  ],
  [
    'a data: page is never opened',
    'data:text/html,x',
    { kind: 'other', scheme: 'data', href: 'data:text/html,x' },
  ],
  [
    'a file is never opened',
    'file:///etc/passwd',
    { kind: 'other', scheme: 'file', href: 'file:///etc/passwd' },
  ],
  [
    'a program is never started',
    'ms-word:ofe|u|http://a.test',
    { kind: 'other', scheme: 'ms-word', href: 'ms-word:ofe|u|http://a.test' },
  ],
  [
    'mailto has an address and nothing else',
    'mailto:ann@a.test?attach=/x&body=y',
    { kind: 'mail', address: 'ann@a.test' },
  ],
  [
    'mailto has the first address only',
    'mailto:ann%40a.test,bob@b.test',
    { kind: 'mail', address: 'ann@a.test' },
  ],
  [
    'mailto keeps bidi marks percent-encoded',
    'mailto:ann\u202E@a.test',
    { kind: 'mail', address: 'ann%E2%80%AE@a.test' },
  ],
  [
    'other links keep bidi marks percent-encoded',
    'data:\u202Etxt,x#\u2066',
    { kind: 'other', scheme: 'data', href: 'data:%E2%80%AEtxt,x#%E2%81%A6' },
  ],
  ['an empty link is broken', '', { kind: 'broken' }],
  ['plain words are broken', 'not a link', { kind: 'broken' }],
  ['a path is broken', '/etc', { kind: 'broken' }],
  ['an extremely long link is broken', `https://a.test/${'x'.repeat(40_000)}`, { kind: 'broken' }],
] as const) {
  test(name, () => expect(parseLink(link)).toStrictEqual(expected))
}

test('the leave page gets the whole link in the fragment', () => {
  const link = 'https://a.test/?b=c#d e"<'
  const url = new URL(leavePath(link), 'https://site.test')
  expect(url.pathname).toBe('/leave')
  expect(url.search).toBe('')
  expect(decodeURIComponent(url.hash.slice(1))).toBe(link)
})

describe('the text of a link', () => {
  for (const [text, host, named] of [
    ['bank.test', 'evil.test', 'bank.test'],
    ['https://Bank.test/login', 'evil.test:8080', 'bank.test'],
    ['bank.test', 'bank.test.evil.test', 'bank.test'],
    ['bank.test', 'www.bank.test', undefined],
    ['www.bank.test/x', 'bank.test', undefined],
    ['bank.test', 'login.bank.test:8443', undefined],
    ['Your bank', 'evil.test', undefined],
    ['Version 2.0', 'a.test', undefined],
  ] as const) {
    test(`${text} to ${host} names ${named ?? 'no other site'}`, () => {
      expect(otherHost(text, host)).toBe(named)
    })
  }
})
