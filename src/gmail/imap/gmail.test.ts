import { describe, expect, test } from 'vitest'
import { testAccount } from './account.ts'
import { mailText, testAccountAt } from './testing/fixture.ts'
import { scriptedImapForTests } from './testing/scripted-imap.ts'

// Responses that a real server cannot be made to send: the peer is a script, not a mail server.

const script = scriptedImapForTests()

describe('Gmail message ids', () => {
  test('identify a mail across UIDs, sizes and Message-IDs', async () => {
    await script.start()
    script.deliver({ uid: 1, id: '1278455344230334865' })
    await script.fixture().untilMails(1)
    script.deliver({ uid: 1, id: '1278455344230334865' }, '[Gmail]/Spam')
    script.deliver({ uid: 2, id: '1278455344230334866' })
    await script.fixture().untilMails(2)
    script.fixture().requestPoll()
    await script.fixture().until(() => script.fixture().folders.get('[Gmail]/Spam')?.lastUid === 1)
    expect(script.fixture().mails).toHaveLength(2)
  })

  test('are reported by testAccount', async () => {
    expect(await testAccount(testAccountAt(script.server().port))).toMatchObject({
      ok: true,
      gmail: true,
      idle: true,
      spam: '[Gmail]/Spam',
      trash: undefined,
    })
  })
})

describe('server limits', () => {
  const TOO_MANY = 'too many simultaneous connections to this account'
  const OVER_QUOTA = 'the account has exhausted its daily quota at the server'
  const LOCKED = 'the account is locked until its owner signs in with a browser'

  for (const [name, command, response, reason] of [
    ['at LOGIN', 'LOGIN', '% NO [ALERT] Too many simultaneous connections. (Failure)', TOO_MANY],
    ['at LOGIN', 'LOGIN', '% NO [WEBALERT https://x.test/?canary] Web login required.', LOCKED],
    [
      'at SELECT',
      'EXAMINE',
      '% NO [OVERQUOTA] Account exceeded command or bandwidth limits.',
      OVER_QUOTA,
    ],
    [
      'at SEARCH',
      'UID SEARCH',
      '% NO [OVERQUOTA] Account exceeded command or bandwidth limits.',
      OVER_QUOTA,
    ],
    [
      'at STATUS',
      'STATUS',
      '% NO [OVERQUOTA] Account exceeded command or bandwidth limits.',
      OVER_QUOTA,
    ],
    [
      'at FETCH',
      'UID FETCH',
      '% NO [OVERQUOTA] Account exceeded command or bandwidth limits.',
      OVER_QUOTA,
    ],
    [
      'as BYE',
      'UID FETCH',
      '* BYE Account exceeded command or bandwidth limits. canary',
      OVER_QUOTA,
    ],
  ] as const) {
    test(`${name}: ${response}`, async () => {
      await script.start()
      let refusals = 0
      script.server().state.respond = (received) => {
        if (!received.startsWith(command)) return undefined
        refusals += 1
        return `${response}\r\n`
      }
      if (command === 'LOGIN') script.server().drop()
      script.deliver({ uid: 1 })
      script.fixture().requestPoll()
      expect(await script.fixture().untilHealth('failing')).toBe(reason)
      script.server().state.respond = () => undefined
      await script.fixture().untilMails(1)
      await script.fixture().untilHealth('ok')
      expect(refusals).toBeLessThan(3)
      expect(JSON.stringify([script.fixture().logLines, script.fixture().reports])).not.toContain(
        'canary',
      )
    })
  }

  test('as a greeting', async () => {
    script.server().state.greeting = '* BYE Too many simultaneous connections\r\n'
    script.open()
    expect(await script.fixture().untilHealth('failing')).toBe(TOO_MANY)
    script.server().state.greeting = '* OK again\r\n'
    await script.fixture().untilHealth('ok')
  })
})

test('examined mail is not fetched again, and pushes poll no other folder', async () => {
  await script.start()
  const polls = script.commandCount('STATUS')
  script.deliver({ uid: 3 })
  await script.fixture().untilMails(1)
  script.deliver({ uid: 4, raw: mailText({ To: 'nobody@mail.test' }) })
  await script.fixture().until(() => script.fixture().folders.get('INBOX')?.lastUid === 4)
  const searches = () => script.commandCount('UID SEARCH')
  const before = searches()
  script.server().push('* 7 EXISTS')
  await script.untilCommand(() => searches() > before)
  script.deliver({ uid: 9 })
  await script.fixture().untilMails(2)
  const fetches = script.server().state.commands.filter((one) => one.startsWith('UID FETCH'))
  expect(fetches.map((one) => one.split(' ')[2])).toEqual(['3', '3', '4', '9', '9'])
  expect(script.commandCount('STATUS')).toBe(polls)
})

test('no folder is opened for writing unless mail is removed', async () => {
  await script.start()
  script.deliver({ uid: 1 })
  await script.fixture().untilMails(1)
  expect([
    script.commandCount('EXAMINE'),
    script.commandCount('SELECT'),
    script.commandCount('UID STORE'),
  ]).toEqual([3, 0, 0])
})
