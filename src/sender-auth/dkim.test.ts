import { afterAll, beforeAll, expect, test } from 'vitest'
import { scanned } from '../../test/kit/mail/scan.ts'
import { ed25519Key, rsaKey, signed } from '../../test/kit/mail/signed.ts'
import { readHead } from '../mime/header-summary.ts'
import { type Fixture, openFixture, SAMPLE_MAIL } from './testing/fixture.ts'

const rsa = rsaKey()
const weak = rsaKey(512)
const small = ed25519Key()
const DAY_MS = 86_400_000

let fixture: Fixture
beforeAll(async () => {
  fixture = await openFixture({
    'TXT s1._domainkey.sender.test': [rsa.record],
    'TXT small._domainkey.sender.test': [small.record],
    'TXT weak._domainkey.sender.test': [weak.record],
    'TXT revoked._domainkey.sender.test': ['v=DKIM1; p='],
    'TXT broken._domainkey.sender.test': 'SERVFAIL',
    'TXT huge._domainkey.sender.test': [`v=DKIM1; p=${'A'.repeat(30_000)}`],
    'TXT s1._domainkey.other.test': [rsa.record],
  })
})
afterAll(() => fixture.close())

const dkimOf = async (raw: string, receivedAt = new Date()) =>
  (await fixture.check({ raw, receivedAt }))?.dkim

for (const [name, make, expected] of [
  ['an unsigned mail gives none', () => SAMPLE_MAIL, 'none'],
  ['a valid RSA signature passes', () => signed(SAMPLE_MAIL, rsa), 'pass'],
  [
    'a valid Ed25519 signature passes',
    () => signed(SAMPLE_MAIL, small, { selector: 'small' }),
    'pass',
  ],
  [
    'a valid signature with simple canonicalization passes',
    () => signed(SAMPLE_MAIL, rsa, { canonicalization: 'simple/simple' }),
    'pass',
  ],
  [
    'a modified body fails',
    async () => (await signed(SAMPLE_MAIL, rsa)).replace('words', 'lies'),
    'fail',
  ],
  [
    'a modified subject fails',
    async () => (await signed(SAMPLE_MAIL, rsa)).replace('Hello', 'Hullo'),
    'fail',
  ],
  ['a signature with another key fails', () => signed(SAMPLE_MAIL, rsaKey()), 'fail'],
  ['a missing key is neutral', () => signed(SAMPLE_MAIL, rsa, { selector: 'nowhere' }), 'neutral'],
  ['a revoked key is neutral', () => signed(SAMPLE_MAIL, rsa, { selector: 'revoked' }), 'neutral'],
  ['a weak key is neutral', () => signed(SAMPLE_MAIL, weak, { selector: 'weak' }), 'neutral'],
  ['an oversized key is neutral', () => signed(SAMPLE_MAIL, rsa, { selector: 'huge' }), 'neutral'],
  ['rsa-sha1 is neutral', () => signed(SAMPLE_MAIL, rsa, { algorithm: 'rsa-sha1' }), 'neutral'],
  [
    'a signature that does not cover From is neutral',
    async () => (await signed(SAMPLE_MAIL, rsa)).replace(/(h=[^;]*?):?\s*From/i, '$1'),
    'neutral',
  ],
  [
    'an unparsable signature is neutral',
    () => `DKIM-Signature: nonsense\r\n${SAMPLE_MAIL}`,
    'neutral',
  ],
  [
    'SERVFAIL for the key is a temperror',
    () => signed(SAMPLE_MAIL, rsa, { selector: 'broken' }),
    'temperror',
  ],
  [
    'one valid signature of several is enough',
    async () =>
      signed(await signed(SAMPLE_MAIL, rsa, { selector: 'broken' }), rsa, {
        signingDomain: 'other.test',
      }),
    'pass',
  ],
] as const) {
  test(name, async () => {
    expect(await dkimOf(await make())).toBe(expected)
  })
}

test('a signature with an l= tag does not pass if the body was extended', async () => {
  const mail = await signed(SAMPLE_MAIL, rsa, {
    maxBodyLength: Buffer.byteLength('Private words.\r\n'),
  })
  expect(mail).toContain('l=16')
  expect(await dkimOf(mail)).toBe('pass')
  expect(await dkimOf(`${mail}<b>Send money.</b>\r\n`)).toBe('neutral')
})

for (const added of [
  'Subject: Your account is locked',
  'SUBJECT : Your account is locked',
  'From: Bob <bob@sender.test>',
  'To: all@box.test',
  'Content-Type: text/html',
  'Date: Mon, 1 Jan 2024 00:00:00 +0000',
] as const) {
  test(`a duplicate field is neutral: ${added}`, async () => {
    const once = `Date: Tue, 2 Jan 2024 00:00:00 +0000\r\nContent-Type: text/plain\r\n${SAMPLE_MAIL}`
    const mail = await signed(once, rsa)
    expect(await dkimOf(mail)).toBe('pass')
    expect(await dkimOf(`${added}\r\n${mail}`)).toBe('neutral')
  })
}

const BLANKS = ' '.repeat(300)
const HEADERS_SHOWN_OTHERWISE: [string, (mail: string) => string][] = [
  ['From has a line without a leading blank', (mail) => mail.replace('ann@', 'ann@\r\n')],
  ['From has such a line, with bare LF', (mail) => mail.replace('ann@', 'ann@\n')],
  ['From has its colon on the next line', (mail) => mail.replace('From:', 'From\r\n :')],
  ['From has very many blanks before its colon', (mail) => mail.replace('From:', `From${BLANKS}:`)],
  [
    'From is the first line, after a blank',
    (mail) => ` From: Ann <ann@sender.test>\r\n${mail.replace(/^From:.*\r\n/m, '')}`,
  ],
  ['Subject has a line without a leading blank', (mail) => mail.replace('Hello', 'Hel\r\nlo')],
]

// Relaxed canonicalization lets anybody change a signed mail in these ways.
for (const [name, change] of HEADERS_SHOWN_OTHERWISE) {
  test(`a signature is neutral if ${name}: the field is not shown as signed`, async () => {
    const mail = await signed(SAMPLE_MAIL, rsa)
    const changed = change(mail)
    const shown = (raw: string) => readHead(scanned(Buffer.from(raw)), '')
    expect(shown(changed)).not.toEqual(shown(mail))
    expect(await dkimOf(changed)).toBe('neutral')
  })
}

for (const [name, change] of [
  ['folded lines', (mail) => mail.replace('Ann <', 'Ann\r\n\t <')],
  ['a blank before its colon', (mail) => mail.replace('From:', 'From :')],
  ['some blanks', (mail) => mail.replace('Ann <', `Ann${BLANKS}<`)],
] satisfies [string, (mail: string) => string][]) {
  test(`a signature passes if From has ${name}`, async () => {
    expect(await dkimOf(change(await signed(SAMPLE_MAIL, rsa)))).toBe('pass')
  })
}

test('a signature passes for a mail to thousands of recipients', async () => {
  const others = Array.from({ length: 3_000 }, (_, at) => `someone.${at}@box.test`).join(',\r\n ')
  const mail = SAMPLE_MAIL.replace('you@box.test', `you@box.test, ${others}`)
  expect(await dkimOf(await signed(mail, rsa))).toBe('pass')
})

test('a line that is no field does not matter between other fields', async () => {
  const mail = await signed(SAMPLE_MAIL, rsa)
  expect(await dkimOf(`From ann@sender.test Mon Jan 1 10:00:00 2024\r\n${mail}`)).toBe('pass')
  expect(await dkimOf(`X: y\r\nz\r\n${mail}`)).toBe('pass')
})

for (const [field, value, change] of [
  [
    'From',
    '"Ann" < ann@sender.test >',
    (text) => text.replaceAll(' ', `${BLANKS}${BLANKS.slice(200)}`),
  ],
  [
    'From',
    'Ann <"ann lee"@sender.test>',
    (text) => text.replace('ann lee', `ann${BLANKS}${' '.repeat(190)}lee`),
  ],
  ['From', 'x@[ <ceo@sender.test> ] <ann@sender.test>', (text) => text.replace('[', `[${BLANKS}`)],
  ['From', '\\ ceo@sender.test, ann@sender.test', (text) => text.replace('\\', '\\  ')],
  [
    'From',
    '"Ann of the newsletter" <ann@sender.test>',
    (text) => text.replace('Ann', `Ann${BLANKS}`),
  ],
  ['Subject', 'Please do not pay', (text) => text.replaceAll(' ', `${BLANKS}${' '.repeat(190)}`)],
] satisfies [string, string, (value: string) => string][]) {
  test(`${field}: ${value} is shown as it was signed, whatever blanks are added`, async () => {
    const mail = SAMPLE_MAIL.replace(new RegExp(`^${field}: .*`, 'm'), () => `${field}: ${value}`)
    const raw = await signed(mail, rsa)
    const changed = raw.replace(`${field}: ${value}`, () => `${field}: ${change(value)}`)
    const shown = (text: string) => readHead(scanned(Buffer.from(text)), 'ceo@sender.test')
    expect(changed).not.toBe(raw)
    expect(shown(changed)).toEqual(shown(raw))
    expect(await dkimOf(changed)).toBe('pass')
  })
}

const MORE_BLANKS = ' '.repeat(450)
const WORDS = 'one two three four five six seven eight nine ten'
for (const [name, mail, change] of [
  [
    'From with very many blanks',
    SAMPLE_MAIL,
    (raw) => raw.replace('Ann <', `Ann${BLANKS}${BLANKS}<`),
  ],
  [
    'From of more than 2 KB',
    SAMPLE_MAIL.replace('Ann', WORDS),
    (raw) => raw.replace(`From: ${WORDS}`, (line) => line.replaceAll(' ', MORE_BLANKS)),
  ],
  [
    'Subject of more than 16 KB',
    SAMPLE_MAIL.replace('Hello', 'a '.repeat(50).trim()),
    (raw) => raw.replace(/^Subject: .*/m, (line) => line.replaceAll(' ', MORE_BLANKS)),
  ],
] satisfies [string, string, (mail: string) => string][]) {
  test(`a signature over ${name}, of which only the beginning is read, is a permerror`, async () => {
    const raw = await signed(mail, rsa)
    expect(await dkimOf(raw)).toBe('pass')
    expect(await dkimOf(change(raw))).toBe('permerror')
  })
}

test('expiry is checked against the time of arrival', async () => {
  const signTime = new Date(Date.now() - 9 * DAY_MS)
  const expires = new Date(Date.now() - 2 * DAY_MS)
  const mail = await signed(SAMPLE_MAIL, rsa, { signTime, expires })
  expect(await dkimOf(mail, new Date(Date.now() - 3 * DAY_MS))).toBe('pass')
  expect(await dkimOf(mail)).toBe('neutral')
})

test('at most twenty keys are looked up for hundreds of signatures', async () => {
  const one = (await signed(SAMPLE_MAIL, rsa)).slice(0, -SAMPLE_MAIL.length)
  const many = Array.from({ length: 300 }, (_, at) => one.replace('s=s1', `s=s${at + 2}`)).join('')
  const before = fixture.asked.length
  expect(await dkimOf(many + SAMPLE_MAIL)).toBe('neutral')
  const keys = fixture.asked.slice(before).filter((key) => key.includes('_domainkey'))
  expect(keys.length).toBe(20)
  // The first ones count: they were added by the last hop.
  expect(await dkimOf(one + many + SAMPLE_MAIL)).toBe('pass')
})
