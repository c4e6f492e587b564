import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { parseHost } from '../../base/address.ts'
import { addConfiguredDomains } from './domains.ts'

let opened: Awaited<ReturnType<typeof openSqliteTestMail>>
beforeEach(async () => {
  opened = await openSqliteTestMail()
})
afterEach(() => opened.close())

const hosts = (text: string) =>
  text
    .split(' ')
    .map(parseHost)
    .filter((host) => host !== undefined)
const start = (domains: string, readers = '') =>
  addConfiguredDomains(opened, { domains: hosts(domains), readerDomains: hosts(readers) })
const known = async () =>
  (await opened.store.listDomains()).map(({ id, name, active, removed, sessions, reader }) =>
    [id, name, active && !removed ? 'on' : 'off', sessions && 'sessions', reader && 'reader']
      .filter((word) => word !== false)
      .join(' '),
  )

test('domains are added once and keep their ids; without reader domains all are reader domains', async () => {
  await start('a.test b.test')
  await start('c.test b.test')
  expect(await known()).toStrictEqual([
    '1 a.test on sessions reader',
    '2 b.test on sessions reader',
    '3 c.test on sessions reader',
  ])
})

test('a domain removed or deactivated by the operator stays so', async () => {
  await start('a.test b.test')
  for (const name of hosts('a.test')) await opened.store.changeDomain(name, { removed: true })
  for (const name of hosts('b.test')) await opened.store.changeDomain(name, { active: false })
  await start('a.test b.test')
  expect(await known()).toStrictEqual([
    '1 a.test off sessions reader',
    '2 b.test off sessions reader',
  ])
})

test('configured reader domains replace the default, and need not accept sessions', async () => {
  await start('a.test b.test')
  const options = { sessions: true, reader: true, ttlSeconds: undefined }
  for (const name of hosts('hand.test')) await opened.store.addDomain({ name, ...options })
  await start('a.test b.test', 'b.test only.test')
  expect(await known()).toStrictEqual([
    '1 a.test on sessions',
    '2 b.test on sessions reader',
    '3 hand.test on sessions reader',
    '4 only.test on reader',
  ])
  await start('a.test b.test only.test')
  expect((await known()).slice(0, 4)).toStrictEqual([
    '1 a.test on sessions reader',
    '2 b.test on sessions reader',
    '3 hand.test on sessions reader',
    '4 only.test on sessions reader',
  ])
})
