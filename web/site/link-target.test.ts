import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { leavePath, parseLink } from './link-target.ts'

describe('a link on the web', () => {
  for (const [name, link, host, doubts] of [
    ['leads to its host', 'https://a.test/b?c#d', 'a.test', []],
    ['is not encrypted with http', 'http://a.test/', 'a.test', ['open']],
    [
      'leads to what stands behind the @',
      'https://bank.test@evil.test/',
      'evil.test',
      ['userinfo'],
    ],
    ['so too with a password', 'https://bank.test:443@evil.test/', 'evil.test', ['userinfo']],
    ['is spelt in plain letters', 'https://аррӏе.test/', 'xn--80ak6aa92e.test', ['letters']],
    [
      'is told where it was spelt so before',
      'https://x.xn--80ak6aa92e.test/',
      'x.xn--80ak6aa92e.test',
      ['letters'],
    ],
    ['may lead to a number', 'https://192.0.2.1/', '192.0.2.1', ['number']],
    ['may hide a number', 'https://0xC0000201/', '192.0.2.1', ['number']],
    ['may lead to a long number', 'https://[2001:db8::1]/', '[2001:db8::1]', ['number']],
    ['has its port shown', 'https://a.test:8443/', 'a.test:8443', ['port']],
    ['has the usual port not', 'https://a.test:443/', 'a.test', []],
    [
      'is read with back slashes as a browser does',
      'https:\\\\evil.test\\@bank.test',
      'evil.test',
      [],
    ],
    ['needs no scheme of its own', '//a.test/b', 'a.test', []],
    ['is read without the spaces around', '  https://a.test/ \n', 'a.test', []],
  ] as const) {
    test(name, () => {
      const found = parseLink(link)
      assert.ok(found.kind === 'web')
      assert.equal(found.host, host)
      assert.deepEqual(found.warnings, doubts)
      assert.equal(new URL(found.href).host, host)
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
    'not in capitals and tabs either',
    'JaVa\tScript:alert(1)',
    { kind: 'other', scheme: 'javascript', href: 'javascript:alert(1)' },
  ],
  [
    'a page in a link is never opened',
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
    'a mail has its address',
    'mailto:ann@a.test?attach=/x&body=y',
    { kind: 'mail', address: 'ann@a.test' },
  ],
  [
    'a mail has only the first',
    'mailto:ann%40a.test,bob@b.test',
    { kind: 'mail', address: 'ann@a.test' },
  ],
  [
    'a mail to marks that turn letters around has them spelt out',
    'mailto:ann\u202E@a.test',
    { kind: 'mail', address: 'ann%E2%80%AE@a.test' },
  ],
  [
    'so has a link that is never opened',
    'data:\u202Etxt,x#\u2066',
    { kind: 'other', scheme: 'data', href: 'data:%E2%80%AEtxt,x#%E2%81%A6' },
  ],
  ['nothing leads nowhere', '', { kind: 'broken' }],
  ['words lead nowhere', 'not a link', { kind: 'broken' }],
  ['a path leads nowhere', '/etc', { kind: 'broken' }],
  [
    'what nobody would type leads nowhere',
    `https://a.test/${'x'.repeat(40_000)}`,
    { kind: 'broken' },
  ],
] as const) {
  test(name, () => assert.deepEqual(parseLink(link), expected))
}

test('what our page is told stands behind the #, in one piece', () => {
  const link = 'https://a.test/?b=c#d e"<'
  const url = new URL(leavePath(link), 'https://site.test')
  assert.equal(url.pathname, '/leave')
  assert.equal(url.search, '')
  assert.equal(decodeURIComponent(url.hash.slice(1)), link)
})
