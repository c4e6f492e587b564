import { describe, expect, test } from 'vitest'
import { withConnection } from './account.ts'
import { mailText, testAccountAt } from './testing/fixture.ts'
import { fetchResponse, scriptedImapForTests, uidsIn, X } from './testing/scripted-imap.ts'

// Responses that a real server cannot be made to send: the peer is a script, not a mail server.

const script = scriptedImapForTests()
const LIST_WITH_TRASH = '* LIST () "/" "INBOX"\r\n* LIST (\\Trash) "/" "Trash"\r\n% OK\r\n'

describe('a wrong body', () => {
  const other = mailText({ To: 'bob@mail.test' }, 'for somebody else')
  // Long enough for truncation to be noticed.
  const raw = mailText({ To: X }, 'line of text\r\n'.repeat(100))

  for (const [name, fault] of [
    ['of another mail, under the right UID', { body: other }],
    ['of another mail of the same size', { body: raw.replace(/Message-ID: <./, 'Message-ID: <x') }],
    ['under another UID', { bodyUid: 7 }],
    ['truncated', { body: raw.slice(0, 400) }],
    ['truncated in the header', { body: raw.slice(0, 20) }],
    ['empty', { body: '' }],
    ['with a literal size too small', { literalSize: 300 }],
    ['with a literal size too large', { literalSize: 3_000 }],
    ['with a literal size above every limit', { literalSize: 4_000_000_000 }],
  ] as const) {
    test(`${name}: never stored; the right one is, once it is sent`, async () => {
      await script.start({ timing: { commandTimeoutMs: 150 } })
      const mail = script.deliver({ uid: 1, raw, ...fault })
      await script.untilCommand(() => script.commandCount('UID FETCH 1 ') >= 3)
      expect(script.fixture().mails).toEqual([])
      Object.assign(mail, { body: raw, literalSize: raw.length, bodyUid: 1 })
      await script.fixture().untilMails(1)
      expect(script.fixture().mails[0]?.raw).toBe(raw)
    })
  }

  test('three times in a row: skipped with a warning, and later mails are stored', async () => {
    await script.start()
    script.deliver({ uid: 1, raw, body: other })
    script.deliver({ uid: 2 })
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.raw).toContain('uid 2')
    expect(
      script
        .fixture()
        .logLines.filter((line) => line.includes('could not be read from the server')),
    ).toHaveLength(1)
    expect(script.fixture().folders.get('INBOX')?.lastUid).toBe(2)
  })

  test('affects neither the connection nor the health of the account', async () => {
    await script.start()
    for (const uid of [1, 2, 3, 4, 5]) script.deliver({ uid, raw, body: other })
    script.deliver({ uid: 6 })
    await script.fixture().untilMails(1)
    expect(script.commandCount('LOGIN')).toBe(1)
    expect(script.fixture().reports.map(({ health }) => health)).toEqual(['starting', 'ok'])
  })

  test('that closes the connection: retry delays do not add up across mails', async () => {
    const pause = { lost: 40, throttled: 40, login: 20, longest: 60_000 }
    await script.start({ timing: { retryMs: pause } })
    // With exponential delays the last mail would arrive after minutes.
    for (let uid = 1; uid <= 6; uid += 1) script.deliver({ uid, raw, literalSize: 4_000_000_000 })
    script.deliver({ uid: 7 })
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.raw).toContain('uid 7')
  })

  test('an approximate RFC822.SIZE is accepted', async () => {
    await script.start()
    script.deliver({ uid: 1, raw, size: Math.round(raw.length * 1.08) })
    script.deliver({ uid: 2, raw, size: 10 })
    await script.fixture().untilMails(2)
  })
})

describe('a misbehaving server', () => {
  test('heads missing from a FETCH response are requested again', async () => {
    await script.start()
    let hidden = 2
    script.server().state.respond = (command) => {
      if (!command.includes('HEADER.FIELDS') || hidden === 0) return undefined
      hidden -= 1
      return '% OK\r\n'
    }
    script.deliver({ uid: 1 })
    await script.fixture().untilMails(1)
    expect(hidden).toBe(0)
  })

  test('an unreadable head blocks neither the mails before it nor those after it', async () => {
    await script.start()
    script.server().state.respond = (command) => {
      const poisoned = uidsIn(
        command.split(' ')[2] ?? '',
        script.server().state.mails['INBOX'] ?? [],
      )
      const asksHeads = command.includes('HEADER.FIELDS')
      return asksHeads && poisoned.includes(3)
        ? '* 3 FETCH (UID 3 BODY[] {99999999}\r\n'
        : undefined
    }
    for (const uid of [1, 2, 3, 4, 5]) {
      script.server().state.mails['INBOX']?.push({ uid, raw: mailText({ To: X }, `uid ${uid}`) })
    }
    script.server().push('* 5 EXISTS')
    await script.fixture().untilMails(4)
    expect(script.fixture().mails.map(({ raw }) => /uid (\d)/.exec(raw)?.[1])).toEqual([
      '1',
      '2',
      '4',
      '5',
    ])
    expect(
      script.fixture().logLines.filter((line) => line.includes('could not be read from')),
    ).toHaveLength(1)
    expect(
      script.fixture().logLines.find((line) => line.includes('could not be read from')),
    ).toContain('uid=3')
    await script.fixture().untilHealth('ok')
  })

  test('mail deleted between its head and its body is skipped', async () => {
    await script.start()
    script.server().state.respond = (command) => {
      if (!/^UID FETCH 1 .*BODY\.PEEK\[\]/.test(command)) return undefined
      script.server().state.mails['INBOX']?.shift()
      return '% NO Some of the requested messages no longer exist\r\n'
    }
    script.deliver({ uid: 1 })
    script.deliver({ uid: 2 })
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.raw).toContain('uid 2')
  })

  test('flag updates during a FETCH are not taken for the mail', async () => {
    await script.start()
    script.server().state.respond = (command) => {
      if (command.startsWith('UID FETCH')) script.server().push('* 1 FETCH (UID 1 FLAGS (\\Seen))')
      return undefined
    }
    script.deliver({ uid: 1 })
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.raw).toContain('uid 1')
  })

  test('BYE without closing: its reason is reported when a command times out', async () => {
    await script.start({ timing: { commandTimeoutMs: 100 } })
    script.server().state.respond = () => {
      script.server().push('* BYE Account exceeded command or bandwidth limits.')
      return 'silence'
    }
    script.deliver({ uid: 1 })
    expect(await script.fixture().untilHealth('failing')).toContain('daily quota')
  })

  test('without IDLE, UIDVALIDITY in SELECT only, and no UIDNEXT at all', async () => {
    script.server().state.capabilities = 'IMAP4rev1'
    script.server().state.respond = (command) => {
      if (command.startsWith('EXAMINE')) return '* 0 EXISTS\r\n* OK [UIDVALIDITY 7]\r\n% OK\r\n'
      return command.startsWith('STATUS') ? '* STATUS "INBOX" (MESSAGES 1)\r\n% OK\r\n' : undefined
    }
    await script.start({ timing: { pollMs: 20 } })
    script.server().state.mails['INBOX']?.push({ uid: 5, raw: mailText({ To: X }) })
    await script.fixture().untilMails(1)
  })

  test('a refused MOVE without UIDNEXT is not repeated until something changes', async () => {
    const moves = () => script.commandCount('UID MOVE')
    script.server().state.respond = (command) => {
      if (command.startsWith('LIST "" "*"')) return LIST_WITH_TRASH
      const exists = `* ${script.server().state.mails['INBOX']?.length} EXISTS\r\n`
      if (command.startsWith('SELECT')) return `${exists}* OK [UIDVALIDITY 7]\r\n% OK\r\n`
      if (command.startsWith('STATUS')) return '* STATUS "INBOX" (UIDVALIDITY 7)\r\n% OK\r\n'
      return command.startsWith('UID MOVE') ? '% NO not allowed\r\n' : undefined
    }
    await script.start({ deleteAfterFetch: true })
    for (const round of [1, 2]) {
      const rest = script.untilCommand(
        () => script.server().state.commands.at(-1) === 'IDLE' && moves() >= round,
      )
      script.deliver({ uid: round })
      await rest
      expect(moves()).toBe(round)
    }
  })

  test('a server that stops responding does not delay closing, whatever command is next', async () => {
    // Far longer than the test timeout.
    await script.start({ timing: { commandTimeoutMs: 600_000 } })
    const [started, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { deps } = script.fixture()
    const { readFolder } = deps
    deps.readFolder = async (name) => {
      started.resolve()
      await release.promise
      return readFolder(name)
    }
    script.deliver({ uid: 1 })
    await started.promise
    script.server().state.respond = (command) => (command.startsWith('UID') ? 'silence' : undefined)
    const closed = script.close()
    release.resolve()
    await closed
    expect(script.fixture().mails).toEqual([])
  })

  // It would end the process.
  test('a response that is too long, after one that closes the connection, throws nothing', async () => {
    script.server().state.respond = (command) =>
      command.startsWith('LOGIN') ? '% NO\r\n{99999999999}\r\n' : undefined
    script.open()
    await script.untilCommand(() => script.commandCount('LOGIN') >= 3)
    expect(await script.fixture().untilHealth('failing')).not.toBe('')
  })

  test('a password echoed by the server is not repeated', async () => {
    script.server().state.respond = (command) =>
      command.startsWith('LOGIN') ? `% BAD cannot parse ${command}\r\n` : undefined
    script.open()
    await script.fixture().untilHealth('failing')
    expect(JSON.stringify([script.fixture().logLines, script.fixture().reports])).not.toContain(
      'canary',
    )
  })
})

describe('an invalid INTERNALDATE', () => {
  /** Mail for the alias with an invalid date. */
  function deliverWithInvalidDate(uid: number): void {
    const { state } = script.server()
    state.respond = (command) =>
      command.startsWith('UID FETCH')
        ? fetchResponse(command, state.mails['INBOX'] ?? []).replace('15-Nov-2026', '15-Foo-2026')
        : undefined
    script.deliver({ uid })
  }

  test('counts as older than every alias on a first poll: mail of a previous owner is not delivered', async () => {
    deliverWithInvalidDate(1)
    script.fixture().state.oldest = new Date()
    await script.start()
    expect(script.fixture().mails).toEqual([])
    expect(script.fixture().folders.get('INBOX')?.lastUid).toBe(1)
    expect(
      script.fixture().logLines.filter((line) => line.includes('without a readable date')),
    ).toEqual([expect.stringContaining('uid=1')])
  })

  test('counts as now for new mail', async () => {
    await script.start()
    deliverWithInvalidDate(1)
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.receivedAt.getTime()).toBe(script.fixture().state.time)
  })
})

test('an error in our code is not taken for a lost connection', async () => {
  const account = testAccountAt(script.server().port)
  const result = withConnection(account, ({ run }) => run(async () => Buffer.alloc(-1)))
  await expect(result).rejects.toThrow(RangeError)
})
