import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAccount } from './account.ts'
import type { AccountOptions } from './options.ts'
import { testAccount } from './test-account.ts'
import { testAccountAt } from './testing/account.ts'
import { mailText, type TestHouse, testHouse } from './testing/house.ts'
import { openScriptedImap, type ScriptedImap } from './testing/scripted-imap.ts'
import type { ScriptedMail } from './testing/scripted-mail.ts'

// What a real server cannot be made to do: the peer of these tests is a script, not a mail server.

const X = 'ann+x@mail.test'
let server: ScriptedImap
let house: TestHouse
let close = async () => {}

beforeEach(async () => {
  server = await openScriptedImap()
  house = testHouse([X])
})
afterEach(async () => {
  await close()
  await server.close()
})

async function start(changes: Partial<AccountOptions> = {}): Promise<void> {
  close = openAccount(house.needs, testAccountAt(server.port, changes)).close
  await house.untilHealth('ok')
}

/** Puts mail into a folder and tells of it. */
function arrive(
  mail: Omit<ScriptedMail, 'raw'> & { raw?: string },
  folder = 'INBOX',
): ScriptedMail {
  const arrived = { raw: mailText({ To: X }, `uid ${mail.uid}`), ...mail }
  server.state.mails[folder]?.push(arrived)
  server.say(`* ${server.state.mails['INBOX']?.length} EXISTS`)
  return arrived
}

/** How often something was asked. */
function asked(beginning: string): number {
  return server.state.asked.filter((one) => one.startsWith(beginning)).length
}

/** The script has no events: asked again after each answer it gives. */
async function seen(holds: () => boolean): Promise<void> {
  const { answer } = server.state
  await new Promise<void>((resolve) => {
    server.state.answer = (command) => {
      setImmediate(() => holds() && resolve())
      return answer(command)
    }
  })
  server.state.answer = answer
}

describe('Gmail’s own ids', () => {
  test('make a mail known that comes again under other numbers, sizes and Message-IDs', async () => {
    await start()
    arrive({ uid: 1, id: '1278455344230334865' })
    await house.untilMails(1)
    arrive({ uid: 1, id: '1278455344230334865' }, '[Gmail]/Spam')
    arrive({ uid: 2, id: '1278455344230334866' })
    await house.untilMails(2)
    house.look()
    await house.until(() => house.folders.get('[Gmail]/Spam')?.lastUid === 1)
    expect(house.mails).toHaveLength(2)
  })

  test('are what an account’s test tells', async () => {
    expect(await testAccount(testAccountAt(server.port))).toMatchObject({
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
      await start()
      let refusals = 0
      server.state.answer = (asked) => {
        if (!asked.startsWith(command)) return undefined
        refusals += 1
        return `${answer}\r\n`
      }
      if (command === 'LOGIN') server.drop()
      arrive({ uid: 1 })
      house.look()
      expect(await house.untilHealth('failing')).toBe(words)
      server.state.answer = () => undefined
      await house.untilMails(1)
      await house.untilHealth('ok')
      expect(refusals).toBeLessThan(3)
      expect(JSON.stringify([house.lines, house.reports])).not.toContain('canary')
    })
  }

  test('as a greeting', async () => {
    server.state.greeting = '* BYE Too many simultaneous connections\r\n'
    close = openAccount(house.needs, testAccountAt(server.port)).close
    expect(await house.untilHealth('failing')).toBe(TOO_MANY)
    server.state.greeting = '* OK again\r\n'
    await house.untilHealth('ok')
  })
})

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
      await start({ tempo: { answer: 150 } })
      const mail = arrive({ uid: 1, raw, ...lie })
      await seen(() => asked('UID FETCH 1 ') >= 4)
      expect(house.mails).toEqual([])
      Object.assign(mail, { body: raw, announce: raw.length, answersAs: 1 })
      await house.untilMails(1)
      expect(house.mails[0]?.raw).toBe(raw)
    })
  }

  test('three times over: passed with a word to the operator, and those behind it are kept', async () => {
    await start()
    arrive({ uid: 1, raw, body: other })
    arrive({ uid: 2 })
    await house.untilMails(1)
    expect(house.mails[0]?.raw).toContain('uid 2')
    expect(
      house.lines.filter((line) => line.includes('cannot be read from the server')),
    ).toHaveLength(1)
    expect(house.folders.get('INBOX')?.lastUid).toBe(2)
  })

  test('a size that is only near the truth is no reason to doubt', async () => {
    await start()
    arrive({ uid: 1, raw, size: Math.round(raw.length * 1.08) })
    arrive({ uid: 2, raw, size: 10 })
    await house.untilMails(2)
  })
})

test('what was looked at is not fetched again', async () => {
  await start()
  arrive({ uid: 3 })
  await house.untilMails(1)
  arrive({ uid: 4, raw: mailText({ To: 'nobody@mail.test' }) })
  await house.until(() => house.folders.get('INBOX')?.lastUid === 4)
  const searches = () => asked('UID SEARCH')
  const before = searches()
  server.say('* 7 EXISTS')
  await seen(() => searches() > before)
  arrive({ uid: 9 })
  await house.untilMails(2)
  const fetches = server.state.asked.filter((one) => one.startsWith('UID FETCH'))
  expect(fetches.map((one) => one.split(' ')[2])).toEqual(['3', '3', '4', '9', '9'])
})

test('where mail stays in the account, no folder is opened for writing', async () => {
  await start()
  arrive({ uid: 1 })
  await house.untilMails(1)
  expect([asked('EXAMINE'), asked('SELECT'), asked('UID STORE')]).toEqual([3, 0, 0])
})

describe('a server that behaves oddly', () => {
  test('heads that it does not show, though it has the mail, are asked for again', async () => {
    await start()
    let hidden = 2
    server.state.answer = (command) => {
      if (!command.includes('HEADER.FIELDS') || hidden === 0) return undefined
      hidden -= 1
      return '% OK\r\n'
    }
    arrive({ uid: 1 })
    await house.untilMails(1)
    expect(hidden).toBe(0)
  })

  test('mail that is gone between its head and its body is passed', async () => {
    await start()
    server.state.answer = (command) => {
      if (!/^UID FETCH 1 .*BODY\.PEEK\[\]/.test(command)) return undefined
      server.state.mails['INBOX']?.shift()
      return '% NO Some of the requested messages no longer exist\r\n'
    }
    arrive({ uid: 1 })
    arrive({ uid: 2 })
    await house.untilMails(1)
    expect(house.mails[0]?.raw).toContain('uid 2')
  })

  test('flags that change while a mail is fetched are not taken for it', async () => {
    await start()
    server.state.answer = (command) => {
      if (command.startsWith('UID FETCH')) server.say('* 1 FETCH (UID 1 FLAGS (\\Seen))')
      return undefined
    }
    arrive({ uid: 1 })
    await house.untilMails(1)
    expect(house.mails[0]?.raw).toContain('uid 1')
  })

  test('a good-bye after which it does not close: its reason is told when no answer comes', async () => {
    await start({ tempo: { answer: 100 } })
    server.state.answer = () => {
      server.say('* BYE Account exceeded command or bandwidth limits.')
      return 'silence'
    }
    arrive({ uid: 1 })
    expect(await house.untilHealth('failing')).toContain('used up')
  })

  test('without IDLE, UIDVALIDITY in SELECT only, and no UIDNEXT at all', async () => {
    server.state.capabilities = 'IMAP4rev1'
    server.state.answer = (command) => {
      if (command.startsWith('EXAMINE')) return '* 0 EXISTS\r\n* OK [UIDVALIDITY 7]\r\n% OK\r\n'
      return command.startsWith('STATUS') ? '* STATUS "INBOX" (MESSAGES 1)\r\n% OK\r\n' : undefined
    }
    await start({ tempo: { watchdog: 20 } })
    server.state.mails['INBOX']?.push({ uid: 5, raw: mailText({ To: X }) })
    await house.untilMails(1)
  })

  test('a password that it repeats is repeated by nobody else', async () => {
    server.state.answer = (command) =>
      command.startsWith('LOGIN') ? `% BAD cannot parse ${command}\r\n` : undefined
    close = openAccount(house.needs, testAccountAt(server.port)).close
    await house.untilHealth('failing')
    expect(JSON.stringify([house.lines, house.reports])).not.toContain('canary')
  })
})
