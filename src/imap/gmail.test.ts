import { describe, expect, test } from 'vitest'
import { testAccount } from './account.ts'
import { mailText, testAccountAt } from './testing/fixture.ts'
import { scriptForTests } from './testing/scripted-imap.ts'

// What a real server cannot be made to do: the peer of these tests is a script, not a mail server.

const script = scriptForTests()

describe('Gmail’s own ids', () => {
  test('make a mail known that comes again under other numbers, sizes and Message-IDs', async () => {
    await script.start()
    script.arrive({ uid: 1, id: '1278455344230334865' })
    await script.fixture().untilMails(1)
    script.arrive({ uid: 1, id: '1278455344230334865' }, '[Gmail]/Spam')
    script.arrive({ uid: 2, id: '1278455344230334866' })
    await script.fixture().untilMails(2)
    script.fixture().look()
    await script.fixture().until(() => script.fixture().folders.get('[Gmail]/Spam')?.lastUid === 1)
    expect(script.fixture().mails).toHaveLength(2)
  })

  test('are what an account’s test tells', async () => {
    expect(await testAccount(testAccountAt(script.server().port))).toMatchObject({
      ok: true,
      gmail: true,
      idle: true,
      spam: '[Gmail]/Spam',
      trash: undefined,
    })
  })
})

describe('limits of the server', () => {
  const TOO_MANY = 'too many connections to this account at once, says the server'
  const USED_UP = 'the account has used up what the server allows for a day'
  const LOCKED = 'the account is locked until its owner signs in with a browser'

  for (const [name, command, answer, words] of [
    [
      'at the login',
      'LOGIN',
      '% NO [ALERT] Too many simultaneous connections. (Failure)',
      TOO_MANY,
    ],
    ['at the login', 'LOGIN', '% NO [WEBALERT https://x.test/?canary] Web login required.', LOCKED],
    [
      'at SELECT',
      'EXAMINE',
      '% NO [OVERQUOTA] Account exceeded command or bandwidth limits.',
      USED_UP,
    ],
    [
      'at SEARCH',
      'UID SEARCH',
      '% NO [OVERQUOTA] Account exceeded command or bandwidth limits.',
      USED_UP,
    ],
    [
      'at STATUS',
      'STATUS',
      '% NO [OVERQUOTA] Account exceeded command or bandwidth limits.',
      USED_UP,
    ],
    [
      'at FETCH',
      'UID FETCH',
      '% NO [OVERQUOTA] Account exceeded command or bandwidth limits.',
      USED_UP,
    ],
    [
      'as a good-bye',
      'UID FETCH',
      '* BYE Account exceeded command or bandwidth limits. canary',
      USED_UP,
    ],
  ] as const) {
    test(`${name}: ${answer}`, async () => {
      await script.start()
      let refusals = 0
      script.server().state.answer = (asked) => {
        if (!asked.startsWith(command)) return undefined
        refusals += 1
        return `${answer}\r\n`
      }
      if (command === 'LOGIN') script.server().drop()
      script.arrive({ uid: 1 })
      script.fixture().look()
      expect(await script.fixture().untilHealth('failing')).toBe(words)
      script.server().state.answer = () => undefined
      await script.fixture().untilMails(1)
      await script.fixture().untilHealth('ok')
      expect(refusals).toBeLessThan(3)
      expect(JSON.stringify([script.fixture().lines, script.fixture().reports])).not.toContain(
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

test('what was looked at is not fetched again', async () => {
  await script.start()
  script.arrive({ uid: 3 })
  await script.fixture().untilMails(1)
  script.arrive({ uid: 4, raw: mailText({ To: 'nobody@mail.test' }) })
  await script.fixture().until(() => script.fixture().folders.get('INBOX')?.lastUid === 4)
  const searches = () => script.asked('UID SEARCH')
  const before = searches()
  script.server().say('* 7 EXISTS')
  await script.seen(() => searches() > before)
  script.arrive({ uid: 9 })
  await script.fixture().untilMails(2)
  const fetches = script.server().state.asked.filter((one) => one.startsWith('UID FETCH'))
  expect(fetches.map((one) => one.split(' ')[2])).toEqual(['3', '3', '4', '9', '9'])
})

test('where mail stays in the account, no folder is opened for writing', async () => {
  await script.start()
  script.arrive({ uid: 1 })
  await script.fixture().untilMails(1)
  expect([script.asked('EXAMINE'), script.asked('SELECT'), script.asked('UID STORE')]).toEqual([
    3, 0, 0,
  ])
})
