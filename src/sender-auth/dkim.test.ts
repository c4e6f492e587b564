import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Fixture, openFixture, SAMPLE_MAIL } from './testing/fixture.ts'
import { ed25519Key, rsaKey, signed } from './testing/signed.ts'

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
  ['a mail without a signature has none', () => SAMPLE_MAIL, 'none'],
  ['a signature holds', () => signed(SAMPLE_MAIL, rsa), 'pass'],
  ['a short key’s too', () => signed(SAMPLE_MAIL, small, { selector: 'small' }), 'pass'],
  [
    'and one that takes every blank as it is',
    () => signed(SAMPLE_MAIL, rsa, { canonicalization: 'simple/simple' }),
    'pass',
  ],
  [
    'not over another body',
    async () => (await signed(SAMPLE_MAIL, rsa)).replace('words', 'lies'),
    'fail',
  ],
  [
    'nor another subject',
    async () => (await signed(SAMPLE_MAIL, rsa)).replace('Hello', 'Hullo'),
    'fail',
  ],
  ['nor by another’s key', () => signed(SAMPLE_MAIL, rsaKey()), 'fail'],
  [
    'a signature whose key is nowhere says nothing',
    () => signed(SAMPLE_MAIL, rsa, { selector: 'nowhere' }),
    'neutral',
  ],
  [
    'nor one whose key was taken back',
    () => signed(SAMPLE_MAIL, rsa, { selector: 'revoked' }),
    'neutral',
  ],
  [
    'nor one with a key that anybody can guess',
    () => signed(SAMPLE_MAIL, weak, { selector: 'weak' }),
    'neutral',
  ],
  [
    'nor one with a key beyond all measure',
    () => signed(SAMPLE_MAIL, rsa, { selector: 'huge' }),
    'neutral',
  ],
  [
    'nor an old kind that was broken',
    () => signed(SAMPLE_MAIL, rsa, { algorithm: 'rsa-sha1' }),
    'neutral',
  ],
  [
    'nor one that leaves the author out',
    async () => (await signed(SAMPLE_MAIL, rsa)).replace(/(h=[^;]*?):?\s*From/i, '$1'),
    'neutral',
  ],
  ['nor one that makes no sense', () => `DKIM-Signature: nonsense\r\n${SAMPLE_MAIL}`, 'neutral'],
  [
    'a key that cannot be had now may be had later',
    () => signed(SAMPLE_MAIL, rsa, { selector: 'broken' }),
    'temperror',
  ],
  [
    'one of several that holds is enough',
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

test('a signature over a part of the body does not hold for what was added to it', async () => {
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
  test(`nor does one for a mail that says something twice: ${added}`, async () => {
    const once = `Date: Tue, 2 Jan 2024 00:00:00 +0000\r\nContent-Type: text/plain\r\n${SAMPLE_MAIL}`
    const mail = await signed(once, rsa)
    expect(await dkimOf(mail)).toBe('pass')
    expect(await dkimOf(`${added}\r\n${mail}`)).toBe('neutral')
  })
}

test('a signature that has run out is judged by when the mail came', async () => {
  const signTime = new Date(Date.now() - 9 * DAY_MS)
  const expires = new Date(Date.now() - 2 * DAY_MS)
  const mail = await signed(SAMPLE_MAIL, rsa, { signTime, expires })
  expect(await dkimOf(mail, new Date(Date.now() - 3 * DAY_MS))).toBe('pass')
  expect(await dkimOf(mail)).toBe('neutral')
})

test('of hundreds of signatures twenty keys are looked up, and the mail still has its answer', async () => {
  const one = (await signed(SAMPLE_MAIL, rsa)).slice(0, -SAMPLE_MAIL.length)
  const many = Array.from({ length: 300 }, (_, at) => one.replace('s=s1', `s=s${at + 2}`)).join('')
  const before = fixture.asked.length
  expect(await dkimOf(many + SAMPLE_MAIL)).toBe('neutral')
  const keys = fixture.asked.slice(before).filter((key) => key.includes('_domainkey'))
  expect(keys.length).toBe(20)
  // The first ones count: the last hand that the mail went through wrote them.
  expect(await dkimOf(one + many + SAMPLE_MAIL)).toBe('pass')
})
