import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type GmailFixture,
  openGmailFixture,
  rules,
  withAliases,
} from '../../test/kit/gmail/gmail.ts'
import type { Address } from '../base/address.ts'
import { CommandError } from '../cli/output.ts'
import type { Arrival } from './alias-test.ts'
import { type AccountTest, testAccount } from './commands.ts'

const JOE = { ...rules('joe@gmail.com'), active: true }
const GOOD: AccountTest = {
  ok: true,
  folders: [
    { name: 'INBOX', use: undefined },
    { name: '[Gmail]/Spam', use: '\\Junk' },
  ],
  spam: '[Gmail]/Spam',
  trash: undefined,
  idle: true,
  gmail: true,
}

let fixture: GmailFixture
let lines: string[]
let sent: Address[]
beforeEach(async () => {
  fixture = await openGmailFixture(JOE)
  lines = []
  sent = []
})
afterEach(() => fixture.close())

interface Server {
  test?: AccountTest
  /** Which mails arrive; undefined: no outgoing mail server. */
  arrive?: (aliases: readonly Address[]) => Arrival[]
}

const run = (options: { name?: string; send?: boolean }, { test = GOOD, arrive }: Server = {}) =>
  testAccount(
    { ...fixture.deps, gmailAccounts: [JOE] },
    {
      testAccount: async () => test,
      aliasTrial: async () =>
        arrive &&
        (async (_email, aliases) => {
          sent.push(...aliases)
          return arrive(aliases)
        }),
    },
    { name: 'joe@gmail.com', ...options },
    (line) => void lines.push(line),
  )

const all = (aliases: readonly Address[]) =>
  aliases.map((alias) => ({ alias, folder: 'INBOX', headers: ['Delivered-To', 'To'] }))

async function refusal(operation: Promise<void>): Promise<CommandError> {
  const error = await operation.catch((reason: unknown) => reason)
  if (error instanceof CommandError) return error
  throw new Error(`expected a refusal, got ${error}`)
}

test('a successful login shows folders and capabilities', async () => {
  await run({})
  expect(lines).toEqual([
    'Login      joe@gmail.com: accepted',
    'Folders    INBOX, [Gmail]/Spam',
    'Spam       [Gmail]/Spam',
    'Trash      not identified: delete_after_fetch cannot be used',
    'IDLE       yes: new mail is pushed',
    'Gmail ids  yes',
  ])
})

test('a failed login exits with its reason', async () => {
  const reason = 'the server does not accept the login'
  const { message, exitCode } = await refusal(run({}, { test: { ok: false, reason } }))
  expect([exitCode, message]).toEqual([1, `joe@gmail.com: ${reason}`])
})

test('an account that is not in the file is refused before the login', async () => {
  expect((await refusal(run({ name: 'ann@gmail.com' }))).exitCode).toBe(1)
  expect(lines).toEqual([])
})

test('--send mails a dot form and a plus form, and shows the headers that contain them', async () => {
  await run({ send: true }, { arrive: all })
  const [dot = '', plus = '', ...others] = sent
  expect(others).toEqual([])
  expect(dot).toMatch(/^j\.?o\.?e@gmail\.com$/)
  expect(dot).not.toBe('joe@gmail.com')
  expect(plus).toMatch(/^joe\+[a-z.]+\d{3}@gmail\.com$/)
  expect(lines.slice(7).map((line) => line.split(/ {2,}/))).toEqual([
    [dot, 'arrived in INBOX; found in Delivered-To, To'],
    [plus, 'arrived in INBOX; found in Delivered-To, To'],
  ])
})

test('--send never mails a dot form that is in use as an alias', async () => {
  const dots = withAliases({
    ...fixture.deps,
    gmailAccounts: [rules('joe@gmail.com', { dots: true })],
  })
  const { createSession } = await import('../mail/sessions/create-session.ts')
  for (let n = 0; n < 2; n += 1) await createSession(dots, { useGmail: true })
  const inUse = new Set<string>()
  for (const form of ['j.oe@gmail.com', 'jo.e@gmail.com', 'j.o.e@gmail.com']) {
    const id = await fixture.idOf('joe@gmail.com')
    const found = await fixture.store.findAliases(id, [rules(form).email], fixture.deps.now())
    if (found.length > 0) inUse.add(form)
  }
  expect(inUse.size).toBe(2)
  for (let round = 0; round < 5; round += 1) await run({ send: true }, { arrive: all })
  expect(sent.filter((alias) => inUse.has(alias))).toEqual([])
})

test('a form that does not arrive is an error', async () => {
  const arrive = (aliases: readonly Address[]) => all(aliases).slice(0, 1)
  const { exitCode } = await refusal(run({ send: true }, { arrive }))
  expect(exitCode).toBe(1)
  expect(lines.at(-1)).toContain('not found')
})

test('an error of the outgoing mail server is printed', async () => {
  const arrive = () => {
    throw new Error('550 relaying denied')
  }
  expect((await refusal(run({ send: true }, { arrive }))).message).toBe('550 relaying denied')
})

test('--send without a mail server is an invalid command line', async () => {
  const { exitCode, message } = await refusal(run({ send: true }))
  expect([exitCode, message]).toEqual([2, expect.stringContaining('MAYFLY_MAIL_OUT')])
  expect(lines).toEqual([])
})
