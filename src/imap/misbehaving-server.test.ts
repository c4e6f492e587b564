import { describe, expect, test } from 'vitest'
import { mailText } from './testing/fixture.ts'
import { fetchAnswer, scriptForTests, uidsIn, X } from './testing/scripted-imap.ts'

// What a real server cannot be made to do: the peer of these tests is a script, not a mail server.

const script = scriptForTests()
const LIST_WITH_TRASH = '* LIST () "/" "INBOX"\r\n* LIST (\\Trash) "/" "Trash"\r\n% OK\r\n'

describe('a body that is not the mail’s', () => {
  const other = mailText({ To: 'bob@mail.test' }, 'for somebody else')
  // Long enough that a piece of it is missed.
  const raw = mailText({ To: X }, 'line of text\r\n'.repeat(100))

  for (const [name, lie] of [
    ['another mail’s, under the right UID', { body: other }],
    [
      'another mail’s, of the same shape',
      { body: raw.replace(/Message-ID: <./, 'Message-ID: <x') },
    ],
    ['under another UID', { answersAs: 7 }],
    ['cut off', { body: raw.slice(0, 400) }],
    ['cut off in its header', { body: raw.slice(0, 20) }],
    ['empty', { body: '' }],
    ['announced too short', { announce: 300 }],
    ['announced too long', { announce: 3_000 }],
    ['announced beyond all limits', { announce: 4_000_000_000 }],
  ] as const) {
    test(`${name}: never kept; the right one is, when it comes`, async () => {
      await script.start({ tempo: { answer: 150 } })
      const mail = script.arrive({ uid: 1, raw, ...lie })
      await script.seen(() => script.asked('UID FETCH 1 ') >= 3)
      expect(script.fixture().mails).toEqual([])
      Object.assign(mail, { body: raw, announce: raw.length, answersAs: 1 })
      await script.fixture().untilMails(1)
      expect(script.fixture().mails[0]?.raw).toBe(raw)
    })
  }

  test('three times over: passed with a word to the operator, and those behind it are kept', async () => {
    await script.start()
    script.arrive({ uid: 1, raw, body: other })
    script.arrive({ uid: 2 })
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.raw).toContain('uid 2')
    expect(
      script.fixture().lines.filter((line) => line.includes('cannot be read from the server')),
    ).toHaveLength(1)
    expect(script.fixture().folders.get('INBOX')?.lastUid).toBe(2)
  })

  test('is the trouble of that mail, not of the account: neither the connection nor its health', async () => {
    await script.start()
    for (const uid of [1, 2, 3, 4, 5]) script.arrive({ uid, raw, body: other })
    script.arrive({ uid: 6 })
    await script.fixture().untilMails(1)
    expect(script.asked('LOGIN')).toBe(1)
    expect(script.fixture().reports.map(({ health }) => health)).toEqual(['starting', 'ok'])
  })

  test('and ends the connection: the pauses after one mail do not add up to those after the next', async () => {
    const pause = { lost: 40, throttled: 40, login: 20, longest: 60_000 }
    await script.start({ tempo: { pause } })
    // At the usual pace of 2^n such pauses the last mail would come after minutes.
    for (let uid = 1; uid <= 6; uid += 1) script.arrive({ uid, raw, announce: 4_000_000_000 })
    script.arrive({ uid: 7 })
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.raw).toContain('uid 7')
  })

  test('a size that is only near the truth is no reason to doubt', async () => {
    await script.start()
    script.arrive({ uid: 1, raw, size: Math.round(raw.length * 1.08) })
    script.arrive({ uid: 2, raw, size: 10 })
    await script.fixture().untilMails(2)
  })
})

describe('a server that behaves oddly', () => {
  test('heads that it does not show, though it has the mail, are asked for again', async () => {
    await script.start()
    let hidden = 2
    script.server().state.answer = (command) => {
      if (!command.includes('HEADER.FIELDS') || hidden === 0) return undefined
      hidden -= 1
      return '% OK\r\n'
    }
    script.arrive({ uid: 1 })
    await script.fixture().untilMails(1)
    expect(hidden).toBe(0)
  })

  test('a head that cannot be read holds up neither those before it nor those behind', async () => {
    await script.start()
    script.server().state.answer = (command) => {
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
    script.server().say('* 5 EXISTS')
    await script.fixture().untilMails(4)
    expect(script.fixture().mails.map(({ raw }) => /uid (\d)/.exec(raw)?.[1])).toEqual([
      '1',
      '2',
      '4',
      '5',
    ])
    expect(
      script.fixture().lines.filter((line) => line.includes('cannot be read from')),
    ).toHaveLength(1)
    expect(script.fixture().lines.find((line) => line.includes('cannot be read from'))).toContain(
      'uid=3',
    )
    await script.fixture().untilHealth('ok')
  })

  test('mail that is gone between its head and its body is passed', async () => {
    await script.start()
    script.server().state.answer = (command) => {
      if (!/^UID FETCH 1 .*BODY\.PEEK\[\]/.test(command)) return undefined
      script.server().state.mails['INBOX']?.shift()
      return '% NO Some of the requested messages no longer exist\r\n'
    }
    script.arrive({ uid: 1 })
    script.arrive({ uid: 2 })
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.raw).toContain('uid 2')
  })

  test('flags that change while a mail is fetched are not taken for it', async () => {
    await script.start()
    script.server().state.answer = (command) => {
      if (command.startsWith('UID FETCH')) script.server().say('* 1 FETCH (UID 1 FLAGS (\\Seen))')
      return undefined
    }
    script.arrive({ uid: 1 })
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.raw).toContain('uid 1')
  })

  test('a good-bye after which it does not close: its reason is told when no answer comes', async () => {
    await script.start({ tempo: { answer: 100 } })
    script.server().state.answer = () => {
      script.server().say('* BYE Account exceeded command or bandwidth limits.')
      return 'silence'
    }
    script.arrive({ uid: 1 })
    expect(await script.fixture().untilHealth('failing')).toContain('used up')
  })

  test('without IDLE, UIDVALIDITY in SELECT only, and no UIDNEXT at all', async () => {
    script.server().state.capabilities = 'IMAP4rev1'
    script.server().state.answer = (command) => {
      if (command.startsWith('EXAMINE')) return '* 0 EXISTS\r\n* OK [UIDVALIDITY 7]\r\n% OK\r\n'
      return command.startsWith('STATUS') ? '* STATUS "INBOX" (MESSAGES 1)\r\n% OK\r\n' : undefined
    }
    await script.start({ tempo: { watchdog: 20 } })
    script.server().state.mails['INBOX']?.push({ uid: 5, raw: mailText({ To: X }) })
    await script.fixture().untilMails(1)
  })

  test('that refuses to move mail and tells no UIDNEXT is not asked again before something happens', async () => {
    const moves = () => script.asked('UID MOVE')
    script.server().state.answer = (command) => {
      if (command.startsWith('LIST "" "*"')) return LIST_WITH_TRASH
      const exists = `* ${script.server().state.mails['INBOX']?.length} EXISTS\r\n`
      if (command.startsWith('SELECT')) return `${exists}* OK [UIDVALIDITY 7]\r\n% OK\r\n`
      if (command.startsWith('STATUS')) return '* STATUS "INBOX" (UIDVALIDITY 7)\r\n% OK\r\n'
      return command.startsWith('UID MOVE') ? '% NO not allowed\r\n' : undefined
    }
    await script.start({ deleteAfterFetch: true })
    for (const round of [1, 2]) {
      const rest = script.seen(
        () => script.server().state.asked.at(-1) === 'IDLE' && moves() >= round,
      )
      script.arrive({ uid: round })
      await rest
      expect(moves()).toBe(round)
    }
  })

  test('that falls silent does not hold up a house that closes, whatever it was about to ask', async () => {
    // Far longer than a test may take.
    await script.start({ tempo: { answer: 600_000 } })
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { deps } = script.fixture()
    const { folder } = deps
    deps.folder = async (name) => {
      asked.resolve()
      await answer.promise
      return folder(name)
    }
    script.arrive({ uid: 1 })
    await asked.promise
    script.server().state.answer = (command) => (command.startsWith('UID') ? 'silence' : undefined)
    const closed = script.close()
    answer.resolve()
    await closed
    expect(script.fixture().mails).toEqual([])
  })

  test('a password that it repeats is repeated by nobody else', async () => {
    script.server().state.answer = (command) =>
      command.startsWith('LOGIN') ? `% BAD cannot parse ${command}\r\n` : undefined
    script.open()
    await script.fixture().untilHealth('failing')
    expect(JSON.stringify([script.fixture().lines, script.fixture().reports])).not.toContain(
      'canary',
    )
  })
})

describe('a time that cannot be read', () => {
  /** Mail for the alias, of which the server tells nonsense for a date. */
  function arriveAtNoTime(uid: number): void {
    const { state } = script.server()
    state.answer = (command) =>
      command.startsWith('UID FETCH')
        ? fetchAnswer(command, state.mails['INBOX'] ?? []).replace('15-Nov-2026', '15-Foo-2026')
        : undefined
    script.arrive({ uid })
  }

  test('is before everything for who looks back: a former owner’s mail is nobody’s', async () => {
    arriveAtNoTime(1)
    script.fixture().state.oldest = new Date()
    await script.start()
    expect(script.fixture().mails).toEqual([])
    expect(script.fixture().folders.get('INBOX')?.lastUid).toBe(1)
    expect(script.fixture().lines.filter((line) => line.includes('time cannot be read'))).toEqual([
      expect.stringContaining('uid=1'),
    ])
  })

  test('is now for mail that has just come', async () => {
    await script.start()
    arriveAtNoTime(1)
    await script.fixture().untilMails(1)
    expect(script.fixture().mails[0]?.receivedAt.getTime()).toBe(script.fixture().state.time)
  })
})
