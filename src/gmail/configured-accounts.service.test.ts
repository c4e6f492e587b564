import { afterEach, beforeEach, expect, test } from 'vitest'
import { rules, START } from '../../test/kit/gmail/gmail.ts'
import { openSqliteTestMail } from '../../test/kit/store/stores.ts'
import { activeAccounts, addConfiguredAccounts, withoutSecrets } from './accounts.ts'

let opened: Awaited<ReturnType<typeof openSqliteTestMail>>
beforeEach(async () => {
  opened = await openSqliteTestMail()
})
afterEach(() => opened.close())

const JOE = rules('joe@gmail.com')
const ANN = rules('ann@gmail.com')
const now = () => START
const start = (...file: (typeof JOE)[]) => addConfiguredAccounts(opened, file)
const known = async () =>
  (await opened.store.listAccounts(START)).map(({ id, email, active, health, reason }) => ({
    id,
    summary: [email, active ? 'on' : 'off', health, reason].join(' ').trim(),
  }))
const offered = async (...file: (typeof JOE)[]) => {
  const deps = { store: opened.other, gmailAccounts: file, now }
  return (await activeAccounts(deps)).map(({ email }) => email)
}

test('accounts are added once and keep their ids, whatever their order in the file', async () => {
  await start(JOE)
  const [joe] = await known()
  await start(ANN, JOE)
  const [first, second, ...others] = await known()
  expect([first, others]).toStrictEqual([joe, []])
  expect(second?.summary).toBe('ann@gmail.com on starting')
})

test('account ids and mail domain ids never collide, in any order of creation', async () => {
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
  expect(new Set(ids).size).toBe(5)
})

test('a restart keeps the health and the active flag of an account, because another node may poll it', async () => {
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
  expect((await known()).map(({ summary }) => summary)).toStrictEqual([
    'joe@gmail.com off failing the server does not accept the login',
    'ann@gmail.com on ok',
  ])
})

test('an account is offered if it is configured, active in the file and in the store, and known', async () => {
  expect(await offered(JOE), 'nobody has added it yet').toStrictEqual([])
  await start(JOE, ANN)
  expect(await offered(JOE, ANN)).toStrictEqual(['joe@gmail.com', 'ann@gmail.com'])
  expect(await offered(ANN), 'one has left the file').toStrictEqual(['ann@gmail.com'])
  expect(await offered({ ...JOE, active: false }, ANN)).toStrictEqual(['ann@gmail.com'])
  const [joe] = await known()
  await opened.store.setAccountActive(joe?.id ?? 0, false)
  expect(await offered(JOE, ANN)).toStrictEqual(['ann@gmail.com'])
  await opened.store.setAccountActive(joe?.id ?? 0, true)
  expect(await offered(JOE, ANN)).toStrictEqual(['joe@gmail.com', 'ann@gmail.com'])
})

test('what routes and commands know of an account contains no secret', () => {
  const configured = { ...JOE, login: { password: 'canary' }, host: 'imap.gmail.com' }
  expect(withoutSecrets([configured])).toStrictEqual([JOE])
})
