import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { openSqliteTestMail } from '../../../test/support/stores.ts'
import { rules, START } from '../testing/gmail.ts'
import { accountRules, activeAccounts, addConfiguredAccounts } from './accounts.ts'

let opened: Awaited<ReturnType<typeof openSqliteTestMail>>
beforeEach(async () => {
  opened = await openSqliteTestMail()
})
afterEach(() => opened.close())

const JOE = { ...rules('joe@gmail.com'), active: true }
const ANN = { ...rules('ann@gmail.com'), active: true }
const now = () => START
const start = (...file: (typeof JOE)[]) => addConfiguredAccounts(opened, file)
const known = async () =>
  (await opened.store.listAccounts(START)).map(({ id, email, active, health, reason }) => ({
    id,
    told: [email, active ? 'on' : 'off', health, reason].join(' ').trim(),
  }))
const offered = async (...file: (typeof JOE)[]) => {
  const deps = { store: opened.other, accountRules: accountRules(file), now }
  return (await activeAccounts(deps)).map(({ email }) => email)
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

test('how an account is doing, and its switch, stay as they are: another node may fetch from it', async () => {
  await start(JOE, ANN)
  const [joe, ann] = await known()
  await opened.other.setAccountHealth(
    joe?.id ?? 0,
    'failing',
    'the server does not accept the login',
  )
  await opened.other.setAccountHealth(ann?.id ?? 0, 'ok', '')
  await opened.store.setAccountActive(joe?.id ?? 0, false)
  await start(JOE, ANN)
  assert.deepEqual(
    (await known()).map(({ told }) => told),
    ['joe@gmail.com off failing the server does not accept the login', 'ann@gmail.com on ok'],
  )
})

test('offered is what stands in the file, active there, known, and switched on', async () => {
  assert.deepEqual(await offered(JOE), [], 'nobody has added it yet')
  await start(JOE, ANN)
  assert.deepEqual(await offered(JOE, ANN), ['joe@gmail.com', 'ann@gmail.com'])
  assert.deepEqual(await offered(ANN), ['ann@gmail.com'], 'one has left the file')
  assert.deepEqual(await offered({ ...JOE, active: false }, ANN), ['ann@gmail.com'])
  const [joe] = await known()
  await opened.store.setAccountActive(joe?.id ?? 0, false)
  assert.deepEqual(await offered(JOE, ANN), ['ann@gmail.com'])
  await opened.store.setAccountActive(joe?.id ?? 0, true)
  assert.deepEqual(await offered(JOE, ANN), ['joe@gmail.com', 'ann@gmail.com'])
})

test('what the doors go by holds no secret of the file', () => {
  const filed = { ...JOE, login: { password: 'canary' }, host: 'imap.gmail.com' }
  assert.deepEqual(accountRules([filed]), [rules('joe@gmail.com')])
})
