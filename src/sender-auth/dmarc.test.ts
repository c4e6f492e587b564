import { afterAll, beforeAll, expect, test } from 'vitest'
import { readHead } from '../mime/head.ts'
import { type Fixture, openFixture, SAMPLE_MAIL } from './testing/fixture.ts'
import { rsaKey, signed } from './testing/signed.ts'

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
  [
    'the author’s own domain may send, by a name below it',
    'ceo@bank.test',
    'x@news.bank.test',
    'pass',
  ],
  ['not where its owner wants the very name', 'ceo@strict.test', 'x@news.strict.test', 'fail'],
  ['nobody else may, whatever his own domain says', 'ceo@bank.test', 'x@evil.test', 'fail'],
  ['nobody may', 'ceo@bank.test', 'ceo@bank.test', 'fail'],
  ['a name below it that is nowhere may not', 'ceo@login.bank.test', 'x@evil.test', 'fail'],
  ['an owner who asks for nothing has nothing judged', 'ann@plain.test', 'ann@plain.test', 'none'],
  ['what the owner asks for may be had later', 'ann@broken.test', 'ann@broken.test', 'temperror'],
] as const) {
  test(`${name}: ${mailFrom} for ${author}`, async () => {
    expect(await dmarcOf(author, mailFrom)).toBe(expected)
  })
}

test('the author’s signature is not enough where a stranger has put another subject before it', async () => {
  const mail = await signed(from('ceo@bank.test'), rsa, { signingDomain: 'bank.test' })
  const locked = `Subject: Your account is locked\r\n${mail}`
  expect(await dmarcOf('ceo@bank.test', 'x@evil.test', locked)).toBe('fail')
})

test('the author’s signature is enough, another’s is not', async () => {
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

test('the author’s signature over a part of the body is not', async () => {
  const options = { signingDomain: 'bank.test', maxBodyLength: 10 }
  const mail = await signed(from('ceo@bank.test'), rsa, options)
  expect(await dmarcOf('ceo@bank.test', 'x@evil.test', mail)).toBe('fail')
})

test('nothing has failed as long as the key of the author’s signature may still be found', async () => {
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
    'authors without end',
    'x@evil.test',
    [Array.from({ length: 500 }, () => 'x@evil.test').join(', ')],
  ],
] as const) {
  test(`a mail with ${name} fails: nobody can vouch for whom the reader sees`, async () => {
    fixture.zone['TXT _dmarc.evil.test'] = REJECT
    const raw = from(...lines)
    expect(await dmarcOf(shown, 'x@evil.test', raw)).toBe('fail')
  })
}

test('what passes for one author is not said of another that the reader sees', async () => {
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
]) {
  test(`our reader and theirs agree on who wrote: ${line}`, async () => {
    const raw = from(line)
    const { senderEmail } = readHead(Buffer.from(raw), '')
    expect(await dmarcOf(senderEmail, 'x@news.bank.test', raw)).toBe('pass')
  })
}

test('an address without a name has nothing judged', async () => {
  expect(await dmarcOf('ann@[192.0.2.1]', 'ann@[192.0.2.1]')).toBe('none')
})

test('a name in another script is the same written either way', async () => {
  Object.assign(fixture.zone, {
    'TXT xn--bcher-kva.test': ALLOWED,
    'TXT _dmarc.xn--bcher-kva.test': REJECT,
  })
  for (const shown of ['ann@bücher.test', 'ann@xn--bcher-kva.test', 'ann@XN--BCHER-KVA.test']) {
    expect(await dmarcOf(shown, 'ann@xn--bcher-kva.test', from('ann@bücher.test'))).toBe('pass')
  }
})
