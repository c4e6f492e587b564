import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { scratchMail } from '../../test/scratch.ts'
import { accountRules, offeredAccounts } from './accounts.ts'
import { addConfiguredAccounts } from './configured-accounts.ts'
import { rules, START } from './testing/gmail.ts'

let opened: Awaited<ReturnType<typeof scratchMail>>
beforeEach(async () => {
  opened = await scratchMail()
})
afterEach(() => opened.close())

const JOE = { ...rules('joe@gmail.com'), active: true }
const ANN = { ...rules('ann@gmail.com'), active: true }
const now = () => START
const start = (...file: (typeof JOE)[]) => addConfiguredAccounts({ ...opened, now }, file)
const known = async () =>
  (await opened.store.listAccounts(START)).map(({ id, email, active, health, reason }) => ({
    id,
    told: [email, active ? 'on' : 'off', health, reason].join(' ').trim(),
  }))
const offered = async (...file: (typeof JOE)[]) => {
  const needs = { store: opened.other, accountRules: accountRules(file), now }
  return (await offeredAccounts(needs)).map(({ email }) => email)
}

test('accounts are added once, and keep their ids in whatever order the file has them', async () => {
  await start(JOE)
  const [joe] = await known()
  await start(ANN, JOE)
  const [first, second, ...others] = await known()
  assert.deepEqual([first, others], [joe, []])
  assert.equal(second?.told, 'ann@gmail.com on starting')
})

test('no account has the id of a mail domain, whichever was there first', async () => {
  const names = ['a.test', 'b.test', 'c.test']
  const add = async (name: string) =>
    opened.store.addDomain({
      name: name as never,
      sessions: true,
      reader: true,
      ttlSeconds: undefined,
    })
  await add(names[0] ?? '')
  await start(JOE)
  await add(names[1] ?? '')
  await start(JOE, ANN)
  await add(names[2] ?? '')
  const ids = [...(await known()), ...(await opened.store.listDomains())].map(({ id }) => id)
  assert.equal(new Set(ids).size, 5)
})

test('how an account was doing before the start is forgotten, its switch is not', async () => {
  await start(JOE, ANN)
  for (const { id } of await known()) {
    await opened.store.reportAccount(id, 'failing', 'the server does not accept the login')
  }
  const [joe] = await known()
  await opened.store.switchAccount(joe?.id ?? 0, false)
  await start(ANN)
  assert.deepEqual(
    (await known()).map(({ told }) => told),
    ['joe@gmail.com off starting', 'ann@gmail.com on starting'],
  )
})

test('offered is what stands in the file, active there, known, and switched on', async () => {
  assert.deepEqual(await offered(JOE), [], 'nobody has added it yet')
  await start(JOE, ANN)
  assert.deepEqual(await offered(JOE, ANN), ['joe@gmail.com', 'ann@gmail.com'])
  assert.deepEqual(await offered(ANN), ['ann@gmail.com'], 'one has left the file')
  assert.deepEqual(await offered({ ...JOE, active: false }, ANN), ['ann@gmail.com'])
  const [joe] = await known()
  await opened.store.switchAccount(joe?.id ?? 0, false)
  assert.deepEqual(await offered(JOE, ANN), ['ann@gmail.com'])
  await opened.store.switchAccount(joe?.id ?? 0, true)
  assert.deepEqual(await offered(JOE, ANN), ['joe@gmail.com', 'ann@gmail.com'])
})

test('what the doors go by holds no secret of the file', () => {
  const filed = { ...JOE, login: { password: 'canary' }, host: 'imap.gmail.com' }
  assert.deepEqual(accountRules([filed]), [rules('joe@gmail.com')])
})
