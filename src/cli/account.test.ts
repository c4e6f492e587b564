import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isHealthy } from '../core/gmail.ts'
import { type GmailFixture, openGmailFixture, rules } from '../service/testing/gmail.ts'
import { filedAccount, printAccounts, setAccountActive } from './account.ts'
import { Refused } from './output.ts'

const SECRETS = { login: { password: 'canary-password' }, host: 'imap.gmail.com' }
const JOE = { ...rules('joe@gmail.com'), active: true, ...SECRETS }
const ANN = { ...rules('ann@gmail.com'), active: true, ...SECRETS }

let fixture: GmailFixture
let lines: string[]
const print = (line: string) => void lines.push(line)
const book = (...file: (typeof JOE)[]) => ({ ...fixture.deps, file })

beforeEach(async () => {
  fixture = await openGmailFixture(JOE, ANN)
  lines = []
})
afterEach(() => fixture.close())

async function listed(file: (typeof JOE)[], options = {}): Promise<string[]> {
  lines = []
  await printAccounts(book(...file), options, print)
  // Ids are as the store draws them.
  const ids = [await fixture.idOf('joe@gmail.com'), await fixture.idOf('ann@gmail.com')]
  return lines.map((line) => ids.reduce((text, id, at) => text.replace(String(id), `#${at}`), line))
}

async function exitOf(operation: Promise<unknown>): Promise<[number, string]> {
  const error = await operation.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof Refused) return [error.exitCode, error.message]
  throw new Error(`expected a refusal, got ${error}`)
}

describe('list', () => {
  test('each account with its id, whether it is offered, how it is, and its aliases', async () => {
    await fixture.alias('joe@gmail.com')
    await fixture.alias('joe@gmail.com')
    await fixture.report('ann@gmail.com', 'failing', 'the server does not accept the login')
    const table = (await listed([JOE, ANN])).map((line) => line.split(/ {2,}/))
    expect(table).toEqual([
      ['ID', 'ADDRESS', 'OFFERED', 'HEALTH', 'ALIASES', 'REASON'],
      ['#0', 'joe@gmail.com', 'yes', 'ok', '2'],
      ['#1', 'ann@gmail.com', 'yes', 'failing', '0', 'the server does not accept the login'],
    ])
  })

  test('of one that is not offered it says why, and not how it was doing', async () => {
    await fixture.store.setAccountActive(await fixture.idOf('joe@gmail.com'), false)
    const reasons = async (...file: (typeof JOE)[]) =>
      (await listed(file)).slice(1).map((line) => line.split(/ {2,}/).slice(1))
    expect(await reasons(JOE, { ...ANN, active: false })).toEqual([
      ['joe@gmail.com', 'no', '-', '0', 'it is switched off'],
      ['ann@gmail.com', 'no', '-', '0', 'it is not active in the file'],
    ])
    const young = { ...ANN, email: rules('young@gmail.com').email }
    expect(await reasons(JOE, young)).toEqual([
      ['joe@gmail.com', 'no', '-', '0', 'it is switched off'],
      ['ann@gmail.com', 'no', '-', '0', 'it does not stand in the file'],
      ['young@gmail.com', 'no', '-', '0', 'the service has not started with it yet'],
    ])
  })

  test('JSON holds the same, and no more than that', async () => {
    await fixture.report('joe@gmail.com', 'slow', 'near its limit')
    expect(
      JSON.parse((await listed([JOE], { json: true })).join('\n').replaceAll('#', '')),
    ).toEqual([
      {
        id: 0,
        email: 'joe@gmail.com',
        offered: true,
        hindrance: null,
        health: 'slow',
        reason: 'near its limit',
        aliases: 0,
      },
      {
        id: 1,
        email: 'ann@gmail.com',
        offered: false,
        hindrance: 'it does not stand in the file',
        health: null,
        reason: null,
        aliases: 0,
      },
    ])
  })

  test('no secret is printed, and a reason cannot write to the terminal', async () => {
    await fixture.report('joe@gmail.com', 'failing', 'bad \u001b[31mred')
    const printed = [...(await listed([JOE])), ...(await listed([JOE], { json: true }))].join('\n')
    for (const secret of ['canary', '\u001b']) expect(printed).not.toContain(secret)
  })

  test('where there are none it says what to do', async () => {
    const empty = await openGmailFixture()
    await printAccounts({ ...empty.deps, file: [] }, {}, print)
    await empty.close()
    expect(lines).toEqual([expect.stringContaining('MAYFLY_GMAIL_ACCOUNTS_FILE')])
  })
})

describe('activate and deactivate', () => {
  const isActive = async (email: string) =>
    (await fixture.other.listAccounts(fixture.deps.now())).find((one) => one.email === email)
      ?.active

  test('by address in any spelling of its letters, and by id', async () => {
    await setAccountActive(book(JOE, ANN), { name: 'JOE@Gmail.com', active: false }, print)
    expect([await isActive('joe@gmail.com'), await isActive('ann@gmail.com')]).toEqual([
      false,
      true,
    ])
    const name = String(await fixture.idOf('joe@gmail.com'))
    await setAccountActive(book(JOE, ANN), { name, active: true }, print)
    expect(await isActive('joe@gmail.com')).toBe(true)
    expect(lines).toEqual([
      'joe@gmail.com is not active: nobody gets an alias of it, and no mail is fetched.',
      'joe@gmail.com is active.',
    ])
  })

  test('switching on says what still keeps it back', async () => {
    await setAccountActive(book(), { name: 'joe@gmail.com', active: true }, print)
    const off = book({ ...JOE, active: false })
    await setAccountActive(off, { name: 'joe@gmail.com', active: true }, print)
    expect(lines).toEqual([
      'joe@gmail.com is switched on, but it does not stand in the file.',
      'joe@gmail.com is switched on, but it is not active in the file.',
    ])
  })

  test('an account keeps its health and its aliases over it', async () => {
    await fixture.alias('joe@gmail.com')
    for (const active of [false, true]) {
      await setAccountActive(book(JOE), { name: 'joe@gmail.com', active }, print)
    }
    const [joe] = await fixture.store.listAccounts(fixture.deps.now())
    expect([joe?.aliases, joe && isHealthy(joe)]).toEqual([1, true])
  })

  for (const name of ['bob@gmail.com', '99', '0', '', 'joe', 'joe+x@gmail.com', 'j.oe@gmail.com']) {
    test(`no account is ${JSON.stringify(name)}`, async () => {
      const [code, message] = await exitOf(
        setAccountActive(book(JOE, ANN), { name, active: false }, print),
      )
      expect(code).toBe(1)
      expect(message).toContain('mayfly account list')
      expect(await isActive('joe@gmail.com')).toBe(true)
    })
  }
})

describe('an account of the file', () => {
  test('is found by its address, also before the service knows it, and by its id', async () => {
    const young = { ...ANN, email: rules('young@gmail.com').email }
    expect((await filedAccount(book(young), 'Young@gmail.com')).email).toBe('young@gmail.com')
    const id = String(await fixture.idOf('joe@gmail.com'))
    expect((await filedAccount(book(JOE), id)).email).toBe('joe@gmail.com')
  })

  test('is none when it has left the file', async () => {
    const id = String(await fixture.idOf('joe@gmail.com'))
    expect((await exitOf(filedAccount(book(ANN), id)))[1]).toContain('no account of the file')
    expect((await exitOf(filedAccount(book(ANN), 'joe@gmail.com')))[0]).toBe(1)
  })
})
