import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type GmailFixture, openGmailFixture, rules } from '../../test/kit/gmail/gmail.ts'
import { CommandError } from '../cli/output.ts'
import { findConfiguredAccount, printAccounts, setAccountActive } from './commands.ts'
import { isHealthy } from './rules.ts'

const SECRETS = { login: { password: 'canary-password' }, host: 'imap.gmail.com' }
const JOE = { ...rules('joe@gmail.com'), active: true, ...SECRETS }
const ANN = { ...rules('ann@gmail.com'), active: true, ...SECRETS }

let fixture: GmailFixture
let lines: string[]
const print = (line: string) => void lines.push(line)
const deps = (...file: (typeof JOE)[]) => ({ ...fixture.deps, gmailAccounts: file })

beforeEach(async () => {
  fixture = await openGmailFixture(JOE, ANN)
  lines = []
})
afterEach(() => fixture.close())

async function listed(file: (typeof JOE)[], options = {}): Promise<string[]> {
  lines = []
  await printAccounts(deps(...file), options, print)
  // Ids are random.
  const ids = [await fixture.idOf('joe@gmail.com'), await fixture.idOf('ann@gmail.com')]
  return lines.map((line) => ids.reduce((text, id, at) => text.replace(String(id), `#${at}`), line))
}

async function exitOf(operation: Promise<unknown>): Promise<[number, string]> {
  const error = await operation.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof CommandError) return [error.exitCode, error.message]
  throw new Error(`expected a refusal, got ${error}`)
}

describe('list', () => {
  test('shows id, address, whether it is offered, health and aliases', async () => {
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

  test('fits 100 columns, whatever the address and the reason', async () => {
    const reason = `cannot connect: ${'word '.repeat(30)}${'x'.repeat(120)}`
    await fixture.report('joe@gmail.com', 'failing', reason)
    const added = { ...ANN, email: rules(`${'y'.repeat(60)}@gmail.com`).email }
    const lines = await listed([JOE, ANN, added])
    expect(lines.filter((line) => line.length > 100)).toEqual([])
    expect(lines.join('\n')).toMatch(/cannot connect: .* x+…$/ms)
  })

  test('shows why an account is not offered, instead of its health', async () => {
    await fixture.store.setAccountActive(await fixture.idOf('joe@gmail.com'), false)
    const reasons = async (...file: (typeof JOE)[]) =>
      (await listed(file)).slice(1).map((line) => line.split(/ {2,}/).slice(1))
    expect(await reasons(JOE, { ...ANN, active: false })).toEqual([
      ['joe@gmail.com', 'no', '-', '0', 'deactivated'],
      ['ann@gmail.com', 'no', '-', '0', 'inactive in the accounts file'],
    ])
    const added = { ...ANN, email: rules('young@gmail.com').email }
    expect(await reasons(JOE, added)).toEqual([
      ['joe@gmail.com', 'no', '-', '0', 'deactivated'],
      ['ann@gmail.com', 'no', '-', '0', 'not in the accounts file'],
      ['young@gmail.com', 'no', '-', '0', 'new: restart the service to use it'],
    ])
  })

  test('--json has the same fields and no others', async () => {
    await fixture.report('joe@gmail.com', 'slow', 'daily limit of 2000 MB reached')
    expect(
      JSON.parse((await listed([JOE], { json: true })).join('\n').replaceAll('#', '')),
    ).toEqual([
      {
        id: 0,
        email: 'joe@gmail.com',
        offered: true,
        hindrance: null,
        health: 'slow',
        reason: 'daily limit of 2000 MB reached',
        aliases: 0,
      },
      {
        id: 1,
        email: 'ann@gmail.com',
        offered: false,
        hindrance: 'not in the accounts file',
        health: null,
        reason: null,
        aliases: 0,
      },
    ])
  })

  test('prints no secret and no control characters', async () => {
    await fixture.report('joe@gmail.com', 'failing', 'bad \u001b[31mred')
    const printed = [...(await listed([JOE])), ...(await listed([JOE], { json: true }))].join('\n')
    for (const secret of ['canary', '\u001b']) expect(printed).not.toContain(secret)
  })

  test('without accounts it prints how to add one', async () => {
    const empty = await openGmailFixture()
    await printAccounts({ ...empty.deps, gmailAccounts: [] }, {}, print)
    await empty.close()
    expect(lines).toEqual([expect.stringContaining('MAYFLY_GMAIL_ACCOUNTS_FILE')])
  })
})

describe('activate and deactivate', () => {
  const isActive = async (email: string) =>
    (await fixture.other.listAccounts(fixture.deps.now())).find((one) => one.email === email)
      ?.active

  test('by address in any case, and by id', async () => {
    await setAccountActive(deps(JOE, ANN), { name: 'JOE@Gmail.com', active: false }, print)
    expect([await isActive('joe@gmail.com'), await isActive('ann@gmail.com')]).toEqual([
      false,
      true,
    ])
    const name = String(await fixture.idOf('joe@gmail.com'))
    await setAccountActive(deps(JOE, ANN), { name, active: true }, print)
    expect(await isActive('joe@gmail.com')).toBe(true)
    expect(lines).toEqual([
      'Deactivated joe@gmail.com: its aliases are no longer offered, and its mail is no longer fetched.',
      'Activated joe@gmail.com.',
    ])
  })

  test('activate prints what else prevents its use', async () => {
    await setAccountActive(deps(), { name: 'joe@gmail.com', active: true }, print)
    const off = deps({ ...JOE, active: false })
    await setAccountActive(off, { name: 'joe@gmail.com', active: true }, print)
    expect(lines).toEqual([
      'Activated joe@gmail.com, but it is not in the accounts file.',
      'Activated joe@gmail.com, but it is inactive in the accounts file.',
    ])
  })

  test('health and aliases are kept', async () => {
    await fixture.alias('joe@gmail.com')
    for (const active of [false, true]) {
      await setAccountActive(deps(JOE), { name: 'joe@gmail.com', active }, print)
    }
    const [joe] = await fixture.store.listAccounts(fixture.deps.now())
    expect([joe?.aliases, joe && isHealthy(joe)]).toEqual([1, true])
  })

  for (const name of ['bob@gmail.com', '99', '0', '', 'joe', 'joe+x@gmail.com', 'j.oe@gmail.com']) {
    test(`${JSON.stringify(name)} matches no account`, async () => {
      const [code, message] = await exitOf(
        setAccountActive(deps(JOE, ANN), { name, active: false }, print),
      )
      expect(code).toBe(1)
      expect(message).toContain('mayfly account list')
      expect(await isActive('joe@gmail.com')).toBe(true)
    })
  }
})

describe('findConfiguredAccount', () => {
  test('finds it by address, even before the service knows it, and by id', async () => {
    const added = { ...ANN, email: rules('young@gmail.com').email }
    expect((await findConfiguredAccount(deps(added), 'Young@gmail.com')).email).toBe(
      'young@gmail.com',
    )
    const id = String(await fixture.idOf('joe@gmail.com'))
    expect((await findConfiguredAccount(deps(JOE), id)).email).toBe('joe@gmail.com')
  })

  test('refuses an account that is not in the file', async () => {
    const id = String(await fixture.idOf('joe@gmail.com'))
    expect((await exitOf(findConfiguredAccount(deps(ANN), id)))[1]).toContain(
      'not in the accounts file',
    )
    expect((await exitOf(findConfiguredAccount(deps(ANN), 'joe@gmail.com')))[0]).toBe(1)
  })
})
