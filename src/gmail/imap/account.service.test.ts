import { describe, expect, test } from 'vitest'
import { dovecotForTests, folderContents } from './testing/dovecot-account.ts'
import { ANN, type ImapFixture, mailText, openImapFixture } from './testing/fixture.ts'

const MANY = process.env['MAYFLY_TEST_LONG'] ? 1_000 : 400
const dovecot = dovecotForTests()
const X = 'ann+x@mail.test'
const Y = 'ann+y@mail.test'
const DOTTED = 'a.nn@mail.test'

describe('recipients of a mail', () => {
  for (const [name, fields, expected] of [
    ['the plus form in To', { To: X }, [X]],
    ['the dot form in To', { To: `Ann <${DOTTED}>` }, [DOTTED]],
    ['an alias in any letter case', { To: 'ANN+X@Mail.Test' }, [X]],
    ['a Bcc recipient, by Delivered-To', { 'Delivered-To': X }, [X]],
    ['a Bcc recipient, by X-Original-To', { 'X-Original-To': X }, [X]],
    [
      'a Bcc recipient, by Received',
      { Received: `from a.test by mx.test for <${X}>; now`, To: 'team@elsewhere.test' },
      [X],
    ],
    ['every alias it names', { To: `${X}, ${Y}`, Cc: DOTTED }, [X, Y, DOTTED]],
    [
      'the Bcc recipient of a copy, not the one in its To',
      { 'Delivered-To': Y, Received: `by mx.test for <${Y}>; now`, To: X },
      [Y],
    ],
    ['nobody by a dot form in Delivered-To only', { 'Delivered-To': DOTTED, To: X }, [X]],
    ['nobody by a prefix of a tag', { To: 'ann+xy@mail.test, ann+@mail.test, ann@mail.test' }, []],
    ['nobody by a longer tag', { To: 'ann+x.y@mail.test, ann+x+y@mail.test' }, []],
    ['nobody by other dots', { To: 'a.n.n@mail.test, ann@mail.test' }, []],
    ['nobody at another host', { To: 'ann+x@elsewhere.test' }, []],
    ['nobody by a display name', { To: `"${X}" <bob@elsewhere.test>` }, []],
  ] as const) {
    test(name, async () => {
      const fixture = await dovecot.ready([X, Y, DOTTED])
      dovecot.server().deliver(ANN, mailText(fields))
      // UIDs are fetched in order: once this one is stored, the one before has been examined.
      dovecot.server().deliver(ANN, mailText({ To: DOTTED }, 'the last one'))
      await fixture.until(() => fixture.mails.some(({ raw }) => raw.includes('the last one')))
      const first = fixture.mails.filter(({ raw }) => !raw.includes('the last one'))
      expect(first.map(({ address }) => address)).toEqual(expected)
    })
  }
})

describe('stored mail', () => {
  test('has the original bytes and INTERNALDATE', async () => {
    const fixture = await dovecot.ready([X])
    const raw = mailText({ To: X }, `Grüße\r\n.\r\n${'=?x'.repeat(500)}\r\n`)
    const at = new Date('2026-11-01T12:34:56Z')
    dovecot.server().deliver(ANN, raw, { at })
    await fixture.untilMails(1)
    expect(Buffer.from(fixture.mails[0]?.raw ?? '', 'latin1').toString()).toBe(raw)
    expect(fixture.mails[0]?.receivedAt).toEqual(at)
  })

  test(`${MANY} mails of an outage are stored by the first poll after it, once each and in order`, async () => {
    const fixture = await dovecot.ready([X, Y])
    await dovecot.closeAll()
    fixture.state.oldest = new Date(Date.UTC(2026, 10, 15))
    const subjects = Array.from({ length: MANY }, (_, at) => `number ${at}`)
    for (const [at, subject] of subjects.entries()) {
      const time = new Date(Date.UTC(2026, 10, 15, 5, 0, at))
      dovecot.server().deliver(ANN, mailText({ To: at % 4 ? X : Y }, subject), { at: time })
    }
    dovecot.open(fixture)
    await fixture.until(() => fixture.reports.length === 4)
    await dovecot.closeAll()
    const bodies = fixture.mails.map(({ raw }) => /number \d+/.exec(raw)?.[0])
    expect(bodies).toEqual(subjects)
    expect(fixture.mailsTo(Y)).toHaveLength(MANY / 4)
    expect(fixture.reports.map(({ health }) => health)).toEqual([
      'starting',
      'ok',
      'starting',
      'ok',
    ])
  })

  test('includes the spam folder', async () => {
    const fixture = await dovecot.ready([X])
    dovecot.server().deliver(ANN, mailText({ To: X }), { folder: 'Spam' })
    fixture.requestPoll()
    await fixture.untilMails(1)
    expect(fixture.folders.get('Spam')?.lastUid).toBe(1)
  })

  test('has a mail moved from Spam to INBOX once', async () => {
    const fixture = await dovecot.ready([X])
    const [raw, at] = [mailText({ To: X }), new Date()]
    dovecot.server().deliver(ANN, raw, { folder: 'Spam', at })
    fixture.requestPoll()
    await fixture.untilMails(1)
    dovecot.server().deliver(ANN, raw, { at })
    dovecot.server().deliver(ANN, mailText({ To: X }), { at: new Date(at.getTime() + 1_000) })
    await fixture.untilMails(2)
    expect(new Set(fixture.mails.map((mail) => mail.raw)).size).toBe(2)
  })

  test('has two identical mails with different UIDs', async () => {
    const fixture = await dovecot.ready([X])
    const [raw, at] = [mailText({ To: X }), new Date()]
    dovecot.server().deliver(ANN, raw, { at })
    dovecot.server().deliver(ANN, raw, { at })
    await fixture.untilMails(2)
    const [one, other] = fixture.mails
    expect(other).toEqual({ ...one, uid: (one?.uid ?? 0) + 1 })
  })

  test('is for all its aliases at once', async () => {
    const fixture = await dovecot.ready([X, Y])
    const commits: string[][] = []
    fixture.state.beforeCommit = ({ recipients }) =>
      void commits.push(recipients.map(({ address }) => address))
    dovecot.server().deliver(ANN, mailText({ To: `${X}, ${Y}` }))
    await fixture.untilMails(2)
    expect(commits).toEqual([[X, Y]])
    expect(fixture.mails[0]?.identity).not.toBe(fixture.mails[1]?.identity)
  })

  test('has both copies of a mail to two Bcc recipients', async () => {
    const fixture = await dovecot.ready([X, Y])
    const [raw, at] = [mailText({ 'Delivered-To': X }), new Date()]
    dovecot.server().deliver(ANN, raw, { at })
    dovecot.server().deliver(ANN, raw.replace(X, Y), { at })
    await fixture.untilMails(2)
    expect(fixture.mails.map(({ address }) => address).toSorted()).toEqual([X, Y])
  })
})

describe('an oversized header', () => {
  const to = `To: ${X}\r\n`
  for (const [name, header] of [
    ['with too many fields', `${'X-A: b\r\n'.repeat(2_500)}${to}`],
    [
      'with To beyond the bytes that are read',
      `${`X-Pad: ${'x'.repeat(900)}\r\n`.repeat(400)}${to}`,
    ],
    ['with many of the examined fields', `${to}${'Received: by a; now\r\n'.repeat(2_500)}`],
    [
      'with a recipient list longer than the bytes that are read',
      `Cc: ${X}${',\r\n c@d.test'.repeat(30_000)}\r\n`,
    ],
    [
      'whose recipient list starts where reading ends',
      `X-Pad: ${'x'.repeat(262_080)}\r\nCc: ${X}${',\r\n c@d.test'.repeat(100)}\r\n`,
    ],
  ] as const) {
    test(`${name} does not block other mail`, async () => {
      const fixture = await dovecot.ready([X])
      const raw = `${header}${mailText({})}`
      dovecot.server().deliver(ANN, raw)
      dovecot.server().deliver(ANN, mailText({ To: X }, 'the last one'))
      await fixture.until(() => fixture.mails.some((mail) => mail.raw.includes('the last one')))
      expect(fixture.mails).toHaveLength(2)
      expect(fixture.mails[0]?.raw === raw).toBe(true)
      expect(fixture.reports.map(({ health }) => health)).toEqual(['starting', 'ok'])
    })
  }
})

describe('mail left in the account', () => {
  test('is unread and has no flags, whether stored or for nobody', async () => {
    const fixture = await dovecot.ready([X])
    const before = await folderContents(dovecot.server().port)
    dovecot.server().deliver(ANN, mailText({ To: 'ann@mail.test' }))
    dovecot.server().deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(1)
    dovecot.server().deliver(ANN, mailText({ To: 'ann+nobody@mail.test' }))
    const after = await folderContents(dovecot.server().port)
    // The next poll starts after it.
    const lastUid = after.INBOX.at(-1)?.uid
    await fixture.until(() => fixture.folders.get('INBOX')?.lastUid === lastUid)
    expect(after.INBOX.length).toBe(before.INBOX.length + 3)
    expect(after.INBOX.filter(({ flags }) => flags.length > 0)).toEqual([])
  })

  test('for no alias is counted and logged once, without a whole address or those of others', async () => {
    const fixture = await dovecot.ready([X])
    // The batch is repeated.
    fixture.state.beforeCommit = () => {
      fixture.state.beforeCommit = () => {}
      throw new Error('the store is busy')
    }
    dovecot.server().deliver(ANN, mailText({ To: 'ann+expired@mail.test, bob@other.test' }))
    dovecot.server().deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(1)
    await fixture.until(() => fixture.unmatched.count > 0)
    expect(fixture.unmatched.count).toBe(1)
    expect(fixture.left).toEqual(['for no live alias: ann+expired@mail.test'])
    const line = fixture.logLines.find((text) => text.includes('for no live alias'))
    expect(line).toContain('debug')
    expect(line).toContain('account=a…@mail.test folder=INBOX')
    expect(line).toMatch(/recipients=a…@mail.test$/)
  })

  test('includes a mail that is too large, with a warning', async () => {
    const fixture = await dovecot.ready([X], { limits: { maxBytes: 20_000 } })
    dovecot.server().deliver(ANN, mailText({ To: X }, 'x'.repeat(20_001)))
    dovecot.server().deliver(ANN, mailText({ To: X }, 'small enough'))
    await fixture.untilMails(1)
    expect(fixture.mails[0]?.raw).toContain('small enough')
    expect(fixture.logLines.filter((line) => line.includes('exceeds the size limit'))).toHaveLength(
      1,
    )
  })

  test('includes mail for a full mailbox; later mail is stored again', async () => {
    const fixture = await dovecot.ready([X])
    fixture.state.full = true
    dovecot.server().deliver(ANN, mailText({ To: X }))
    await fixture.until(() => fixture.logLines.some((line) => line.includes('mailbox full')))
    fixture.state.full = false
    dovecot.server().deliver(ANN, mailText({ To: X }, 'later'))
    await fixture.untilMails(1)
    expect(fixture.mails[0]?.raw).toContain('later')
  })

  test('includes everything older than the first alias', async () => {
    dovecot.server().deliver(ANN, mailText({ To: X }))
    const fixture = await dovecot.ready([X])
    await dovecot.closeAll()
    expect(fixture.mails).toEqual([])
  })
})

test('a new account is fetched back to its oldest alias', async () => {
  const oldest = new Date(Date.now() - 5 * 24 * 3_600_000)
  const day = 24 * 3_600_000
  for (const [at, body] of [
    [new Date(oldest.getTime() - 30 * day), 'long before'],
    [new Date(oldest.getTime() - 3_600_000), 'an hour before'],
    [new Date(oldest.getTime() + 1_000), 'a second after'],
    [new Date(oldest.getTime() + 3 * day), 'days after'],
  ] as const) {
    dovecot.server().deliver(ANN, mailText({ To: 'ann+old@mail.test' }, body), { at })
  }
  const fixture = openImapFixture(['ann+old@mail.test'])
  fixture.state.oldest = oldest
  dovecot.open(fixture)
  await fixture.untilHealth('ok')
  const bodies = fixture.mails.map(({ raw }) => raw.split('\r\n\r\n')[1]?.trim())
  expect(bodies.toSorted()).toEqual(['a second after', 'days after'])
})

describe('after an outage', () => {
  const OLD = 120
  const old = new Date(Date.now() - 20 * 24 * 3_600_000)

  /** A known account that now has much old mail. */
  async function reopenWithOldMail(oldest: Date | undefined): Promise<ImapFixture> {
    const fixture = await dovecot.ready([X])
    await dovecot.closeAll()
    fixture.state.oldest = oldest
    for (let at = 0; at < OLD; at += 1) {
      dovecot.server().deliver(ANN, mailText({ To: X }, 'old'), { at: old })
    }
    dovecot.server().deliver(ANN, mailText({ To: X }, 'new'))
    // Old as well, but with the highest UID.
    dovecot.server().deliver(ANN, mailText({ To: X }, 'old'), { at: old })
    dovecot.open(fixture)
    return fixture
  }

  test('new mail does not wait for mail older than every alias', async () => {
    const fixture = await reopenWithOldMail(new Date())
    await fixture.untilMails(1)
    await fixture.until(() => fixture.reports.filter(({ health }) => health === 'ok').length === 2)
    expect(fixture.mails.map(({ raw }) => raw.split('\r\n\r\n')[1]?.trim())).toEqual(['new'])
    const { INBOX } = await folderContents(dovecot.server().port)
    expect(fixture.folders.get('INBOX')?.lastUid).toBe(INBOX.at(-1)?.uid)
  })

  test('everything is skipped if there is no alias', async () => {
    const fixture = await reopenWithOldMail(undefined)
    await fixture.until(() => fixture.reports.filter(({ health }) => health === 'ok').length === 2)
    dovecot.server().deliver(ANN, mailText({ To: X }, 'later'))
    await fixture.untilMails(1)
    expect(fixture.mails[0]?.raw).toContain('later')
    expect(fixture.reports.map(({ health }) => health)).not.toContain('slow')
  })
})

test('a busy INBOX does not starve other folders', async () => {
  const fixture = await dovecot.ready([X], { timing: { pollMs: 300 } })
  dovecot.server().deliver(ANN, mailText({ To: X }, 'in spam'), { folder: 'Spam' })
  const inSpam = () => fixture.mails.some(({ folder }) => folder === 'Spam')
  for (let count = 1; count <= 200 && !inSpam(); count += 1) {
    dovecot.server().deliver(ANN, mailText({ To: X }))
    await fixture.untilMails(count)
  }
  expect(inSpam()).toBe(true)
})
