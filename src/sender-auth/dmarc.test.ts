import { afterAll, beforeAll, expect, test } from 'vitest'
import { scanned } from '../../test/kit/mail/scan.ts'
import { rsaKey, signed } from '../../test/kit/mail/signed.ts'
import { readHead } from '../mime/header-summary.ts'
import { type Fixture, openFixture, SAMPLE_MAIL } from './testing/fixture.ts'

const rsa = rsaKey()
const ALLOWED = ['v=spf1 ip4:192.0.2.1 -all']
const REJECT = ['v=DMARC1; p=reject']

let fixture: Fixture
beforeAll(async () => {
  fixture = await openFixture({
    'TXT bank.test': ['v=spf1 -all'],
    'TXT _dmarc.bank.test': REJECT,
    'TXT s1._domainkey.bank.test': [rsa.record],
    'TXT news.bank.test': ALLOWED,
    'TXT strict.test': ['v=spf1 -all'],
    'TXT _dmarc.strict.test': ['v=DMARC1; p=reject; aspf=s; adkim=s'],
    'TXT news.strict.test': ALLOWED,
    'TXT evil.test': ALLOWED,
    'TXT s1._domainkey.evil.test': [rsa.record],
    'TXT plain.test': ALLOWED,
    'TXT broken.test': ['v=spf1 -all'],
    'TXT _dmarc.broken.test': 'SERVFAIL',
    'TXT slow._domainkey.bank.test': 'SERVFAIL',
  })
})
afterAll(() => fixture.close())

const from = (...lines: string[]) =>
  SAMPLE_MAIL.replace(
    'From: Ann <ann@sender.test>',
    lines.map((line) => `From: ${line}`).join('\r\n'),
  )
const dmarcOf = async (shown: string, mailFrom: string, raw = from(shown)) =>
  (await fixture.check({ shown, mailFrom, raw }))?.dmarc

for (const [name, author, mailFrom, expected] of [
  ['a subdomain is aligned (relaxed)', 'ceo@bank.test', 'x@news.bank.test', 'pass'],
  ['a subdomain is not aligned (strict)', 'ceo@strict.test', 'x@news.strict.test', 'fail'],
  ['SPF of another domain is not aligned', 'ceo@bank.test', 'x@evil.test', 'fail'],
  ['SPF failure fails', 'ceo@bank.test', 'ceo@bank.test', 'fail'],
  ['the policy applies to a missing subdomain', 'ceo@login.bank.test', 'x@evil.test', 'fail'],
  ['no policy gives none', 'ann@plain.test', 'ann@plain.test', 'none'],
  ['SERVFAIL for the policy is a temperror', 'ann@broken.test', 'ann@broken.test', 'temperror'],
] as const) {
  test(`${name}: ${mailFrom} for ${author}`, async () => {
    expect(await dmarcOf(author, mailFrom)).toBe(expected)
  })
}

test('the author’s signature does not pass if another Subject was prepended', async () => {
  const mail = await signed(from('ceo@bank.test'), rsa, { signingDomain: 'bank.test' })
  const locked = `Subject: Your account is locked\r\n${mail}`
  expect(await dmarcOf('ceo@bank.test', 'x@evil.test', locked)).toBe('fail')
})

test('the author’s signature passes, that of another domain does not', async () => {
  const mail = from('ceo@bank.test')
  const options = { signingDomain: 'bank.test' }
  expect(await dmarcOf('ceo@bank.test', 'x@evil.test', await signed(mail, rsa, options))).toBe(
    'pass',
  )
  const others = await signed(mail, rsa, { signingDomain: 'evil.test' })
  expect(
    await fixture.check({ shown: 'ceo@bank.test', mailFrom: 'x@evil.test', raw: others }),
  ).toEqual({ spf: 'pass', dkim: 'pass', dmarc: 'fail' })
})

test('the author’s signature with an l= tag does not pass', async () => {
  const options = { signingDomain: 'bank.test', maxBodyLength: 10 }
  const mail = await signed(from('ceo@bank.test'), rsa, options)
  expect(await dmarcOf('ceo@bank.test', 'x@evil.test', mail)).toBe('fail')
})

test('a temperror of DKIM makes a DMARC failure a temperror', async () => {
  const options = { signingDomain: 'bank.test', selector: 'slow' }
  const mail = await signed(from('ceo@bank.test'), rsa, options)
  expect(await dmarcOf('ceo@bank.test', 'x@evil.test', mail)).toBe('temperror')
})

for (const [name, shown, lines] of [
  ['two authors of two domains', 'ceo@bank.test', ['ceo@bank.test, x@evil.test']],
  ['two From headers, the good one first', 'x@evil.test', ['x@evil.test', 'ceo@bank.test']],
  ['two From headers, the good one last', 'ceo@bank.test', ['ceo@bank.test', 'x@evil.test']],
  ['two From headers of one domain', 'x@evil.test', ['x@evil.test', 'y@evil.test']],
  ['no author', 'x@evil.test', ['']],
  ['no From header', 'x@evil.test', []],
  ['an address within an address', 'ceo@bank.test', ['<ceo@bank.test>@evil.test']],
  ['a route', 'ceo@bank.test', ['<@evil.test,@any.test:ceo@bank.test>']],
  [
    'very many authors',
    'x@evil.test',
    [Array.from({ length: 150 }, () => 'x@evil.test').join(', ')],
  ],
] as const) {
  test(`a mail with ${name} fails`, async () => {
    fixture.zone['TXT _dmarc.evil.test'] = REJECT
    const raw = from(...lines)
    expect(await dmarcOf(shown, 'x@evil.test', raw)).toBe('fail')
  })
}

test('a pass counts only for the author that is shown', async () => {
  fixture.zone['TXT _dmarc.evil.test'] = REJECT
  expect(await dmarcOf('x@evil.test', 'x@evil.test')).toBe('pass')
  expect(await dmarcOf('ceo@bank.test', 'x@evil.test', from('x@evil.test'))).toBe('fail')
})

for (const line of [
  'Ann <ceo@bank.test>',
  '"Ann, at the Bank" <ceo@bank.test>',
  'ceo@bank.test (Ann)',
  '=?utf-8?q?=22Ann=22_=3Cx=40evil=2Etest=3E?= <CEO@Bank.Test>',
  'Ann\r\n <ceo@bank.test>',
  'Ann <ceo@bank.test>, Bob <bob@bank.test>',
  'Team: ceo@bank.test, bob@bank.test;',
  '"ceo@evil.test" <ceo@bank.test>',
  'Ann <"c e o"@bank.test>',
  'Ann <"ceo"@bank.test>',
  '"ceo"@bank.test',
  '"ann..lee"@bank.test',
  '"josé"@bank.test',
  '"ann\\ lee"@bank.test',
  'Ann <"c\\"eo"@bank.test>',
  'Ann < ceo @ bank.test >',
  'Ann <josé@bank.test>',
  "Ann <c.e/o+tag='x'@bank.test>",
]) {
  test(`our parser and mailauth see the same author: ${line}`, async () => {
    const raw = from(line)
    const { senderEmail } = readHead(scanned(Buffer.from(raw)), '')
    expect(await dmarcOf(senderEmail, 'x@news.bank.test', raw)).toBe('pass')
  })
}

for (const [name, change] of [
  ['a line without a leading blank', (raw) => raw.replace('x@', 'x@\r\n')],
  ['its colon on the next line', (raw) => raw.replace('From:', 'From\r\n :')],
  ['very many blanks', (raw) => raw.replace('<', `${' '.repeat(5_000)}<`)],
] satisfies [string, (raw: string) => string][]) {
  test(`the signature of one author does not pass for another that the envelope names: From has ${name}`, async () => {
    const mail = await signed(from('X <x@bank.test>'), rsa, { signingDomain: 'bank.test' })
    const raw = change(mail)
    const mailFrom = 'ceo@bank.test'
    const { senderEmail: shown } = readHead(scanned(Buffer.from(raw)), mailFrom)
    expect(shown).toBe('ceo@bank.test')
    expect(await dmarcOf(shown, mailFrom, raw)).not.toBe('pass')
    expect(await dmarcOf('', '', raw)).not.toBe('pass')
  })
}

for (const line of [
  'Ann <ann@bank.test',
  'Ann <mailto:ann@bank.test>',
  'Ann <ann(x)@bank.test>',
  'Ann [ann@bank.test]',
  'Ann <ann lee@bank.test>',
  '"ann@bank.test"',
]) {
  test(`the signature of an author that we cannot read does not pass for the envelope: ${line}`, async () => {
    const raw = await signed(from(line), rsa, { signingDomain: 'bank.test' })
    const mailFrom = 'ceo@bank.test'
    const { senderEmail: shown } = readHead(scanned(Buffer.from(raw)), mailFrom)
    expect(shown).toBe('ceo@bank.test')
    expect(await dmarcOf(shown, mailFrom, raw)).toBe('fail')
  })
}

test('an empty sender never passes', async () => {
  Object.assign(fixture.zone, { 'TXT mail.bank.test': ALLOWED, 'TXT _dmarc.evil.test': REJECT })
  for (const line of ['', '<>', 'x', '@', 'x@', 'x@.', 'x@[192.0.2.1]', '@bank.test']) {
    const raw = await signed(from(line), rsa, { signingDomain: 'bank.test' })
    const checks = await fixture.check({ helo: 'mail.bank.test', shown: '', mailFrom: '', raw })
    expect(checks, line).toMatchObject({ spf: 'pass', dkim: 'pass' })
    expect(checks?.dmarc, line).not.toBe('pass')
  }
})

test('an author at an address literal gives none', async () => {
  expect(await dmarcOf('ann@[192.0.2.1]', 'ann@[192.0.2.1]')).toBe('none')
})

test('an internationalized domain matches its Punycode form', async () => {
  Object.assign(fixture.zone, {
    'TXT xn--bcher-kva.test': ALLOWED,
    'TXT _dmarc.xn--bcher-kva.test': REJECT,
  })
  for (const shown of ['ann@bücher.test', 'ann@xn--bcher-kva.test', 'ann@XN--BCHER-KVA.test']) {
    expect(await dmarcOf(shown, 'ann@xn--bcher-kva.test', from('ann@bücher.test'))).toBe('pass')
  }
})
