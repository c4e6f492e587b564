import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Fixture, openFixture } from './testing/fixture.ts'

let fixture: Fixture
beforeAll(async () => {
  fixture = await openFixture({})
})
afterAll(() => fixture.close())

const loop = Object.fromEntries(
  Array.from({ length: 15 }, (_, at) => [
    `TXT l${at}.loop.test`,
    [`v=spf1 include:l${at + 1}.loop.test -all`],
  ]),
)
const wide = Object.fromEntries(
  Array.from({ length: 10 }, (_, at) => [
    [`MX m${at}.wide.test`, Array.from({ length: 10 }, (_, n) => `${n} h${n}.m${at}.wide.test`)],
  ]).flat(),
)

for (const [name, domain, zone, expected] of [
  [
    'a listed address passes',
    'pass.test',
    { 'TXT pass.test': ['other text', 'v=spf1 ip4:192.0.2.0/24 -all'] },
    'pass',
  ],
  [
    'an unlisted address fails with -all',
    'fail.test',
    { 'TXT fail.test': ['v=spf1 ip4:198.51.100.1 -all'] },
    'fail',
  ],
  [
    'an unlisted address softfails with ~all',
    'soft.test',
    { 'TXT soft.test': ['v=spf1 ~all'] },
    'softfail',
  ],
  [
    'an unlisted address is neutral with ?all',
    'neutral.test',
    { 'TXT neutral.test': ['v=spf1 ?all'] },
    'neutral',
  ],
  ['a domain without a policy gives none', 'none.test', { 'TXT none.test': ['hello'] }, 'none'],
  ['a missing domain gives none', 'missing.test', {}, 'none'],
  [
    'two policies are a permerror',
    'two.test',
    { 'TXT two.test': ['v=spf1 +all', 'v=spf1 -all'] },
    'permerror',
  ],
  [
    'an unknown mechanism is a permerror',
    'unknown.test',
    { 'TXT unknown.test': ['v=spf1 teapot -all'] },
    'permerror',
  ],
  ['SERVFAIL is a temperror', 'broken.test', { 'TXT broken.test': 'SERVFAIL' }, 'temperror'],
  ['REFUSED is a temperror', 'refused.test', { 'TXT refused.test': 'REFUSED' }, 'temperror'],
  [
    'a, mx, include, redirect and exists are evaluated',
    'names.test',
    {
      'TXT names.test': ['v=spf1 a:one.names.test mx include:more.names.test -all'],
      'A one.names.test': ['203.0.113.9'],
      'MX names.test': ['10 mx.names.test'],
      'A mx.names.test': ['203.0.113.8'],
      'TXT more.names.test': ['v=spf1 redirect=last.names.test'],
      'TXT last.names.test': ['v=spf1 exists:%{i}.ok.names.test -all'],
      'A 192.0.2.1.ok.names.test': ['127.0.0.2'],
    },
    'pass',
  ],
  [
    'ptr is evaluated with forward confirmation',
    'ptr.test',
    {
      'TXT ptr.test': ['v=spf1 ptr -all'],
      'PTR 1.2.0.192.in-addr.arpa': ['host.ptr.test'],
      'A host.ptr.test': ['192.0.2.1'],
    },
    'pass',
  ],
  ['more than ten lookups are a permerror', 'l0.loop.test', loop, 'permerror'],
  [
    'a policy that includes itself is a permerror',
    'self.test',
    { 'TXT self.test': ['v=spf1 include:self.test -all'] },
    'permerror',
  ],
  [
    'too many void lookups are a permerror',
    'void.test',
    { 'TXT void.test': ['v=spf1 a:v1.test a:v2.test a:v3.test +all'] },
    'permerror',
  ],
  [
    'a policy with a hundred DNS queries is a permerror',
    'wide.test',
    {
      ...wide,
      'TXT wide.test': [
        `v=spf1 ${Array.from({ length: 9 }, (_, at) => `mx:m${at}.wide.test`).join(' ')} -all`,
      ],
    },
    'permerror',
  ],
] as const) {
  test(name, async () => {
    Object.assign(fixture.zone, zone)
    const before = fixture.asked.length
    expect((await fixture.check({ mailFrom: `ann@${domain}` }))?.spf).toBe(expected)
    expect(fixture.asked.length - before).toBeLessThan(65)
  })
}

test('the HELO domain is checked for an empty reverse-path', async () => {
  Object.assign(fixture.zone, { 'TXT helo.test': ['v=spf1 ip4:192.0.2.1 -all'] })
  expect((await fixture.check({ mailFrom: '', helo: 'helo.test' }))?.spf).toBe('pass')
  expect((await fixture.check({ mailFrom: '', helo: '[192.0.2.1]' }))?.spf).toBe('none')
})

for (const [clientIp, domain, record] of [
  ['2001:db8::1', 'six.test', 'ip6:2001:db8::/32'],
  ['::ffff:192.0.2.1', 'mapped.test', 'ip4:192.0.2.1'],
  ['fe80::1%eth0', 'link.test', 'ip6:fe80::/10'],
  ['127.0.0.1', 'here.test', 'ip4:127.0.0.1'],
] as const) {
  test(`${clientIp} is normalized`, async () => {
    fixture.zone[`TXT ${domain}`] = [`v=spf1 ${record} -all`]
    expect((await fixture.check({ clientIp, mailFrom: `ann@${domain}` }))?.spf).toBe('pass')
  })
}

test('private names in a policy are not resolved', async () => {
  const inner = ['intranet', 'db.corp', 'printer.local', 'x.internal', 'router.home.arpa']
  for (const [at, name] of inner.entries()) {
    const domain = `in${at}.test`
    Object.assign(fixture.zone, {
      [`TXT ${domain}`]: [`v=spf1 exists:${name} -all`],
      [`A ${name}`]: ['10.0.0.1'],
    })
    expect((await fixture.check({ mailFrom: `ann@${domain}` }))?.spf).not.toBe('pass')
    expect(fixture.asked).not.toContain(`A ${name}`)
  }
})
